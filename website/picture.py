"""Draws a part of README's report as docs/report.svg: `python -m website.picture`."""

import io
import re

from rich.console import Console
from rich.text import Text

from .pages import ROOT

BLOCK = re.compile(r"<!-- report -->\n+```text\n(.*?)```", re.DOTALL)
# The first problem that lost points, and the last lines.
PART = re.compile(r"\n…\n(rope  .*?)\n…\n  Read more.*?\n(Total [^\n]*)", re.DOTALL)
COLORS = {"✓": "green", "✗": "bold red", "~": "yellow"}
# Rich's own picture loads a font from a network.
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}"/></clipPath>{lines}</defs>
<rect width="{width}" height="{height}" rx="8" fill="#1b1d23"/>
<g transform="translate({terminal_x}, 12)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def drawn(text: str) -> str:
    """Return the picture of a report's text."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    for line in text.splitlines():
        shown = Text(line)
        for mark, style in COLORS.items():
            shown.highlight_words([mark], style)
        if not line.startswith(" "):
            shown.stylize("bold")
        console.print(shown)
    return console.export_svg(title="", code_format=FORMAT, unique_id="report")


def shown_part(readme: str) -> str:
    """Return the lines of README's report that the picture shows."""
    block = BLOCK.search(readme)
    part = PART.search(block[1]) if block else None
    if part is None:
        raise ValueError("README.md has no report of the expected form")
    return f"{part[1]}\n\n{part[2]}".replace("\n…", "")


def main() -> None:
    """Write the picture."""
    text = shown_part((ROOT / "README.md").read_text(encoding="utf-8"))
    (ROOT / "docs/report.svg").write_text(drawn(text), encoding="utf-8")


if __name__ == "__main__":
    main()
