"""The project's site: `python -m website` builds it.

pages.py          gathers the pages: course text, guides, API, gallery
docstrings.py     docstrings as reStructuredText
mathml.py         formulas as MathML, which browsers show without a script or a network
accessibility.py  what screen readers and keyboards need
picture.py        draws the report of README
conf.py           the settings of Sphinx
"""
