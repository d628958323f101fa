"""Reads docstrings as reStructuredText: examples and columns keep their form."""

import re
from collections.abc import Iterator

from sphinx.application import Sphinx

# Two columns, as in a list of modules.
COLUMNS = re.compile(r"\S.*\S {2,}\S|\S+ {2,}\S")


def literal(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring, with examples and columns in blocks that keep their form."""
    in_columns = False
    for number, line in enumerate(lines):
        columns = bool(COLUMNS.match(line)) or (in_columns and line.startswith(" "))
        if columns and not in_columns:
            yield from (".. code-block:: text", "")
        if in_columns and not columns:
            yield ""
        in_columns = columns
        following = lines[number + 1 : number + 3]
        example = line.endswith(":") and following[:1] == [""] and following[1:2] != []
        if example and following[1].startswith("    "):
            yield f"{line}:"
        else:
            yield f"    {line}" if columns else line


def keep_form(
    _app: Sphinx, kind: str, _name: str, _what: object, _options: object, lines: list[str]
) -> None:
    """Change the lines of a module's docstring in place."""
    if kind == "module":
        lines[:] = literal(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen for docstrings."""
    app.connect("autodoc-process-docstring", keep_form)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
