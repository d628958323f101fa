"""HTML pages that stand alone: no script, no font, no image from elsewhere.

Their policy lets a browser load nothing and apply only the style that the page carries. Everything
that is put into them is escaped, and first made plain: see ``plain_text``.
"""

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .plain_text import plain

MAX_TEXT = 10_000


def page(package: str, template: str, style: str, **content: object) -> str:
    """A page made of a package's template.

    Args:
        package: holds the template.
        template: its file name.
        style: what a browser may apply; part of the grader, and of no submission.
        content: what the template speaks of.
    """
    return (
        environment(package)
        .get_template(template)
        .render(
            content,
            style=Markup(style),  # noqa: S704 (files of the grader alone)
            style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


def stylesheet(package: str, name: str) -> str:
    """A style sheet that lies in a package."""
    return resources.files(package).joinpath("templates", name).read_text("utf-8")


@cache
def environment(package: str) -> Environment:
    """Where a package's templates find what they need."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=made_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def made_plain(value: object) -> object:
    """What an expression of a template gives, if it is text without the characters that hide."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, MAX_TEXT)
    return value
