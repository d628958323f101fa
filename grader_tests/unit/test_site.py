"""The site: formulas are MathML, links stay inside it, docstrings keep their form."""

import re
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from website.docstrings import literal
from website.mathml import mathml
from website.pages import ROOT, copy_page
from website.picture import drawn, shown_part


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{e^{x_i}}{\sum_{j=0}^{n-1} e^{x_j}}",
        r"\hat m = \frac{m}{1 - \beta_1^t}, \qquad \sqrt{\hat v} + \epsilon",
        r"\alpha_{\min} + \frac12 \left(1 + \cos\frac{t - T_w}{T_c - T_w}\pi\right)",
        r"W_2\,\mathrm{SiLU}(W_1 x) \odot W_3 x \in \mathbb{R}^{d \times n}",
    ],
)
def test_a_formula_is_mathml(formula: str) -> None:
    """No TeX is left in it."""
    markup = mathml(formula, "block")
    assert markup.startswith("<math ")
    assert "\\" not in markup


@pytest.mark.parametrize("formula", [r"\nonsense{x}", r"\frac"])
def test_a_formula_that_is_not_understood_stops_the_build(formula: str) -> None:
    """The message shows it."""
    with pytest.raises(ExtensionError) as caught:
        mathml(formula, "inline")
    assert formula in str(caught.value).replace("\\\\", "\\")


def test_a_function_keeps_its_distance() -> None:
    """A cosine is an operator, a letter is none."""
    assert "<mo" in mathml(r"\cos x", "inline")
    assert "<mo" not in mathml("x", "inline")


def test_links_out_of_the_site_become_text(tmp_path: Path) -> None:
    """Those to other pages, to the network and to places in a page stay."""
    (tmp_path / "b.md").write_text("# B\n", encoding="utf-8")
    text = "[b](b.md#b) [code](../code.py) [net](https://example.org/) [here](#a)\n"
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    copy_page(tmp_path / "a.md", tmp_path / "out.md", tmp_path)
    shown = "[b](b.md#b) code [net](https://example.org/) [here](#a)\n"
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == shown


def test_examples_and_columns_of_docstrings_keep_their_form() -> None:
    """Both become blocks of reStructuredText."""
    lines = ["Does it.", "", "a.py   one", "bc.py  two", "", "As here:", "", "    f(x)", ""]
    assert list(literal(lines)) == [
        *("Does it.", "", ".. code-block:: text", "", "    a.py   one", "    bc.py  two", "", ""),
        *("As here::", "", "    f(x)", ""),
    ]


def test_the_picture_of_the_report_is_current() -> None:
    """It shows what README says; python -m website.picture draws it again."""
    picture = drawn(shown_part((ROOT / "README.md").read_text(encoding="utf-8")))
    assert "half_split_pairs" in picture
    assert words(picture) == words((ROOT / "docs/report.svg").read_text(encoding="utf-8"))


def words(picture: str) -> list[str]:
    """What an SVG says, whatever version of the library drew it."""
    return re.findall(r">([^<>\n]+)</text>", picture)
