"""Adds to the theme's pages what screen readers and keyboards need."""

from pathlib import Path

from sphinx.application import Sphinx

ADDED = {
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="All pages"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    # A keyboard has to reach what scrolls.
    "<pre>": '<pre tabindex="0">',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}


def add(app: Sphinx, failure: Exception | None) -> None:
    """Change the pages that were written."""
    pages = [] if failure else Path(app.outdir).rglob("*.html")
    # Those of the gallery stay as they come out.
    for page in (one for one in pages if "gallery" not in one.parts):
        text = page.read_text(encoding="utf-8")
        for found, better in ADDED.items():
            text = text.replace(found, better)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen for the end of the build."""
    app.connect("build-finished", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
