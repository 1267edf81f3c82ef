"""The import directions that keep the layers apart, and a light ``import sparsetoken``."""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sparsetoken

ROOT = Path(sparsetoken.__file__).parent
CORE = {
    "_njit",
    "_types",
    "_validation",
    "vocabulary",
    "estimate",
    "problem",
    "population",
    "losses",
    "pooling",
    "places",
    "law",
    "performance",
}
MAY_IMPORT = {
    "_njit": set(),
    "_types": set(),
    "_validation": set(),
    "_replace": set(),
    "vocabulary": {"_validation"},
    "problem": {"_types", "_validation", "vocabulary"},
    "losses": {"_njit", "_types", "_validation"},
    "pooling": {"_njit", "_types", "_validation"},
    "places": {"_njit", "_types"},
    "estimate": set(),
    "population": {"_validation", "problem", "vocabulary"},
    "law": {"_types", "problem"},
    "performance": {"_njit", "_types", "_validation", "estimate", "law", "losses"},
    "sampling": CORE,
    "theory": CORE,
    "sequences": {"_njit", "_types", "_validation"},
    "files": {"_types", "_validation", "sequences"},
    "inspection": {
        *("_types", "_validation", "estimate", "problem", "population"),
        *("sequences", "estimators", "plotting"),
    },
    "estimators": {
        "_njit",
        "_replace",
        "_types",
        "_validation",
        "estimate",
        "losses",
        "places",
        "pooling",
        "vocabulary",
        "sequences",
    },
    "planner": CORE
    | {
        "models",
        "sampling",
        "theory",
        "sequences",
        "estimators",
        "inspection",
        "plotting",
    },
    "models": CORE | {"sampling", "theory", "sequences", "estimators"},
    "experiments": CORE | {"_replace", "models", "sampling", "theory", "sequences", "plotting"},
    "reporting": {
        "_replace",
        "_types",
        "_validation",
        "vocabulary",
        "sequences",
        "estimators",
        "inspection",
        "planner",
    },
    "plotting": {"_validation", "vocabulary", "models"},
    "cli": None,  # anything
    "app": None,
    "__init__": None,  # the public names
    "__main__": {"cli"},
}
FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def layer_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    dotted = ".".join(parts)
    return dotted if dotted in MAY_IMPORT else parts[0]


def imported_layers(path):
    """Every layer of ours that a file imports, also inside functions and for type checking."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
            if node.module == "sparsetoken":
                names = [f"sparsetoken.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "sparsetoken":
                yield rest.split(".")[0] or "__init__"


def test_imports_point_one_way():
    for path in FILES:
        layer = layer_of(path)
        assert layer in MAY_IMPORT, f"{layer} is a new layer: say in this test what it may import"
        allowed = MAY_IMPORT[layer]
        if allowed is not None:
            wrong = set(imported_layers(path)) - allowed - {layer.split(".")[0]}
            assert not wrong, f"{path} must not import {sorted(wrong)}"


def imported_modules(path, modules):
    """Every module of ours that a file imports, also inside functions and for type checking."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield from {full if full in modules else node.module} & modules


def test_no_modules_import_each_other_in_a_ring():
    names = {}
    for path in FILES:
        parts = ("sparsetoken", *path.relative_to(ROOT).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = path
    graph = {name: set(imported_modules(path, names.keys())) for name, path in names.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the ring


def test_classifiers_reach_inspection_in_one_place():
    """Questions are answered by a package that imports the classifiers: they ask when called."""
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in (ROOT / "estimators").glob("*.py")
    }
    asking = [name for name, text in texts.items() if "sparsetoken.inspection" in text]
    assert asking == ["base.py"]
    assert texts["base.py"].count("import_module(") == 1


def test_nothing_imports_the_top():
    for path in FILES:
        if layer_of(path) not in {"cli", "app", "__main__"}:
            assert not {"cli", "app"} & set(imported_layers(path)), path


def test_whatever_is_imported_is_declared():
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(name for extra in extras.values() for name in extra)]
    declared = {re.match(r"[\w-]+", entry)[0].lower().replace("-", "_") for entry in listed}
    declared |= {"sklearn"} if "scikit_learn" in declared else set()
    for path in FILES:
        for node in ast.walk(TREES[path]):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in {name.partition(".")[0] for name in names}:
                known = name in sys.stdlib_module_names or name == "sparsetoken"
                assert known or name in declared, f"{path.name} imports {name}: declare it"


def test_no_module_is_shadowed_by_its_own_function():
    for path in FILES:
        parts = ["sparsetoken", *path.relative_to(ROOT).with_suffix("").parts]
        if parts[-1] not in ("__init__", "__main__") and parts[1] != "app":
            module = importlib.import_module(".".join(parts))
            parent = importlib.import_module(".".join(parts[:-1]))
            assert getattr(parent, parts[-1]) is module, path


def test_no_two_classes_have_one_name():
    names = [
        node.name for path in FILES for node in TREES[path].body if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in names if names.count(name) > 1} == set()


def test_import_is_light():
    code = (
        "import sys, sparsetoken; "
        "heavy = {'matplotlib', 'dask', 'distributed', 'torch', 'sklearn', 'numba', 'numpy'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == []


def test_public_names_resolve():
    for name in sparsetoken.__all__:
        assert getattr(sparsetoken, name) is not None
    assert set(sparsetoken.__all__) <= set(dir(sparsetoken))
    with pytest.raises(AttributeError, match="attribute nonsense"):
        _ = sparsetoken.nonsense
