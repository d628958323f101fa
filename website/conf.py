"""The settings of Sphinx."""

project = "cs336"
html_title = "cs336"
extensions = [
    *("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"),
    *("website.accessibility", "website.docstrings", "website.mathml"),
]
napoleon_use_ivar = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_math_renderer = "mathml"
html_css_files = ["site.css"]
html_static_path = ["static"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# Signatures name types of packages that the site has no page for.
nitpicky = False
suppress_warnings = ["ref.python"]
