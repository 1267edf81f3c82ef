import sparsetoken

project = "sparsetoken"
author = "The sparsetoken developers"
version = release = sparsetoken.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}

autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",  # others are shown, not run
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 5,  # seconds
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
}
