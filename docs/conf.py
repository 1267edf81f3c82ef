import importlib
import sys
from pathlib import Path

import sparsetoken

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "sparsetoken"
author = "The sparsetoken developers"
version = release = sparsetoken.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "pictures",
    "reference_pages",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "sparsetoken"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": [], "contributing": []}
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
    "filename_pattern": r"/plot_",  # others are shown, not run
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 5,  # seconds
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
}
