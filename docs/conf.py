"""How the documentation is built: make docs."""

from prophase import __version__

project = "Prophase"
author = project_copyright = "Prophase developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Prophase {__version__}"
napoleon_google_docstring = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
exclude_patterns = ["README.md"]
# types are named by their last word, which several packages may use
suppress_warnings = ["ref.python"]
