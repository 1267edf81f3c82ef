from importlib.metadata import version as installed_version

project = "sparsetoken"
author = "The sparsetoken developers"
version = release = installed_version("sparsetoken")
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}
html_sidebars = {"**": []}
exclude_patterns = ["_build"]
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_score_request",  # made by scikit-learn
}
