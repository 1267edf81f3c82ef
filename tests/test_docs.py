"""The reference is in step with the code, and what the pages cite exists."""

import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sparsetoken
from sparsetoken.cli.command import app

ROOT = Path(__file__).parents[1]
PROSE = [ROOT / "README.md", *(ROOT / "docs").glob("*.rst")]
PROSE += [
    page
    for part in ("start", "guide", "theory", "validation")
    for page in (ROOT / "docs" / part).iterdir()
]


@pytest.fixture(scope="module")
def reference():
    path = ROOT / "docs" / "_extensions" / "reference_pages.py"
    spec = importlib.util.spec_from_file_location("reference_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference(reference):
    pages = reference.api_pages()
    packages = {n for n in sparsetoken.__all__ if inspect.ismodule(getattr(sparsetoken, n))}
    assert packages == pages.keys() - {"sparsetoken"}
    for name in set(sparsetoken.__all__) - packages:
        assert re.search(rf"\b(sparsetoken|st)\.{name}\b", pages["sparsetoken"])
    for package in packages:
        names = importlib.import_module(f"sparsetoken.{package}").__all__
        for name in names:
            assert re.search(rf"\bsparsetoken\.{package}\.{name}\n", pages[package]), name


def test_every_reference_page_is_listed(reference):
    listed = (ROOT / "docs" / "reference" / "index.rst").read_text().split()
    assert {*reference.api_pages(), "command-line"} <= set(listed)


def test_every_command_and_option_is_in_the_reference(reference):
    page = reference.command_line_page()
    parts = re.split(r"^(sparsetoken[ a-z-]*)\n-+\n", page, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    names = [command.callback.__name__ for command in app.registered_commands]
    assert names
    for group in app.registered_groups:
        names += [
            f"{group.name} {command.name or command.callback.__name__}"
            for command in group.typer_instance.registered_commands
        ]
    for name in names:
        help_text = (
            CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"}).output
        )
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text)) - {"--help"}
        assert options <= set(re.findall(r"--[a-z-]+", sections[f"sparsetoken {name}"])), name


def test_cited_benchmarks_and_tests_exist():
    text = re.sub(r"\s+", " ", " ".join(page.read_text() for page in PROSE))
    cited = {}
    for module, words in re.findall(r"python -m (benchmarks[\w.]*)((?: [a-z]+)*)", text):
        if module == "benchmarks":
            cited |= {f"benchmarks.{topic}": set() for topic in words.split()}
        else:
            cited.setdefault(module, set()).update(words.split())
    assert len(cited) > 20
    for module, modes in cited.items():
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        assert modes <= set(re.findall(r"\w+", source)), module
    for path in re.findall(r"tests/[\w/]+\.py", text):
        assert (ROOT / path).exists(), path


def test_walks_through_the_house_name_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    walks = re.sub(r"\s+", " ", text[text.index("## Walks") : text.index("## A new loss")])
    steps = re.findall(r"`([\w/]+\.py)(?:: ([^`]+))?`", walks)
    assert len(steps) > 30
    for path, name in steps:
        source = (ROOT / "src" / "sparsetoken" / path).read_text()
        last = name.rpartition(".")[2]
        assert not name or re.search(rf"(def|class) {last}\b", source), (path, name)


@pytest.mark.parametrize("folder", ["docs", "src"])
def test_answers_are_written_out(folder):
    pages = [*(ROOT / folder).glob("**/*.rst"), *(ROOT / folder).glob("**/*.py")]
    for page in pages:
        if "_build" in page.parts or "gallery" in page.parts:
            continue
        for example in doctest.DocTestParser().get_examples(page.read_text(), str(page)):
            assert "..." not in example.want or example.exc_msg, (page, example.source)


def test_fractions_have_braces():
    """What sets the formulas reads \\tfrac12 x as 12 over x."""
    for page in PROSE:
        assert not re.search(r"frac *\d", page.read_text()), page


def test_one_version_everywhere():
    version = sparsetoken.__version__
    assert importlib.metadata.version("sparsetoken") == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()
