"""Formulas as MathML, which browsers show without a script or a network."""

import re

from docutils.nodes import SkipNode, math, math_block
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

# As an operator a function's name keeps its distance from what follows.
FUNCTION = re.compile(r"<mi>(cos|sin|exp|log|ln|max|min|softmax|tanh|erf)</mi>")
# A hat is no wider than its letter.
HAT = re.compile(r"<mo>(&#x0005E;</mo></mover>)")
OPERATOR = r'<mo lspace="0.167em" rspace="0.167em" movablelimits="true">\1</mo>'


def mathml(formula: str, display: str) -> str:
    """Return a formula in MathML.

    Args:
        formula: in TeX.
        display: "inline" or "block".

    Raises:
        ExtensionError: something in it is not understood.
    """
    try:
        markup = HAT.sub(r'<mo stretchy="false">\1', convert(formula, display=display))
    except Exception as error:
        raise ExtensionError(f"the formula {formula!r} cannot be shown: {error!r}") from error
    if unknown := re.search(r"\\[a-zA-Z]+", markup):
        raise ExtensionError(f"the formula {formula!r} has {unknown[0]}, which is not known")
    return FUNCTION.sub(OPERATOR, markup)


def visit_inline(translator: HTML5Translator, node: math) -> None:
    """Write a formula in a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def visit_block(translator: HTML5Translator, node: math_block) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writer of formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
