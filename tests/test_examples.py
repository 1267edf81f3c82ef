"""What can be told of the gallery without running it; the build of the documentation runs it."""

import ast
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
ALLOWED = {
    "sparsetoken",
    "numpy",
    "matplotlib",
    "sklearn",
    "dask",
    "h5py",
} | sys.stdlib_module_names


def test_there_is_a_gallery():
    assert len(EXAMPLES) >= 13
    assert (EXAMPLES[0].parent / "GALLERY_HEADER.rst").exists()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
class TestExample:
    def test_name_is_one_that_the_gallery_runs(self, path):
        assert path.stem.startswith("plot_")

    def test_starts_with_a_title_and_a_story(self, path):
        title, underline, *story = ast.get_docstring(ast.parse(path.read_text())).splitlines()
        assert set(underline) == {"="}
        assert len(underline) == len(title)
        assert "".join(story).strip()

    def test_has_text_between_the_code_and_a_picture(self, path):
        text = path.read_text()
        assert text.count("\n# %%\n# ") >= 2
        assert "plt.subplots" in text

    def test_is_short(self, path):
        assert len(path.read_text().splitlines()) <= 200

    def test_imports_only_what_the_package_depends_on(self, path):
        roots = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                roots.add(node.module.partition(".")[0])
        assert "sparsetoken" in roots
        assert roots <= ALLOWED
