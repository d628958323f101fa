"""Reads each format of a report back, with a parser that had no part in writing it.

A reader raises where the text is not what the format allows, and gives the texts that it found.
"""

import base64
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from xml.etree import ElementTree as ET

import html5lib
from jsonschema import Draft202012Validator
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from cs336_grader.reports import schema
from cs336_grader.reports.gradebook import BYTE_ORDER_MARK

from .published_shapes import CLASSROOM, CTRF, GRADESCOPE, JUNIT, Shape

Reader = Callable[[str], list[str]]

# Every command that GitHub's runner knows.
COMMANDS = {
    *("add-mask", "add-matcher", "remove-matcher", "add-path", "debug", "notice", "warning"),
    *("error", "group", "endgroup", "echo", "set-env", "set-output", "save-state"),
    *("stop-commands", "internal-set-repo-path"),
}
ANNOTATION = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED_HTML = {"<details>", "</details>", "<summary>", "</summary>"}


def read_json(text: str, shape: Shape) -> list[str]:
    """JSON of a shape."""
    found = json.loads(text)
    Draft202012Validator(shape).validate(found)
    return list(texts(found))


@cache
def report_schema() -> dict[str, object]:
    """That of report.json, made once."""
    return schema.schema()


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)


def read_gradescope(text: str) -> list[str]:
    """Gradescope's file: where there is a score, it is the sum of the tests'; else none has one."""
    found = read_json(text, GRADESCOPE)
    results = json.loads(text)
    scores = [test["score"] for test in results["tests"] if "score" in test]
    assert ("score" in results) or not scores
    return found


def read_classroom_output(text: str) -> list[str]:
    """One line that sets one output, in which nothing can begin another."""
    assert re.fullmatch(r"result=[A-Za-z0-9+/=]+\n", text)
    return read_json(
        base64.b64decode(text.removeprefix("result="), validate=False).decode(), CLASSROOM
    )


def read_junit(text: str) -> list[str]:
    """JUnit XML: expat parses it, its elements are the schema's, and the counts add up."""
    root = ET.fromstring(text.encode())  # noqa: S314 (the text is one of ours)
    for element in root.iter():
        attributes, children = JUNIT[element.tag]
        required = {name[1:] for name in attributes if name.startswith("!")}
        assert required <= set(element.attrib) <= {name.lstrip("!") for name in attributes}
        assert {child.tag for child in element} <= children
    suites = list(JUnitXml.fromstring(text.encode()))
    for suite in suites:
        cases = list(suite)
        assert suite.tests == len(cases)
        assert suite.failures == sum(case.is_failure for case in cases)
        assert suite.errors == sum(case.is_error for case in cases)
    return [
        text for element in root.iter() for text in (element.text or "", *element.attrib.values())
    ]


def read_csv(text: str) -> list[str]:
    """Two rows of one length, of which no cell is a formula."""
    assert text.startswith(BYTE_ORDER_MARK)
    names, values = csv.reader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline=""))
    assert len(names) == len(values)
    assert not any(cell.startswith(tuple("=+-@")) for cell in (*names, *values))
    return values


def read_annotations(text: str) -> list[str]:
    """Workflow commands, as GitHub's runner takes them: annotations and no others."""
    found = []
    for line in text.splitlines():
        assert command_of(line) in {"error", "warning", "notice"}
        match = ANNOTATION.fullmatch(line)
        assert match is not None
        _, properties, message = match.groups()
        names = [pair.partition("=")[0] for pair in properties.split(",")]
        assert set(names) <= {"file", "line", "title"}, "a value broke out of its property"
        assert len(names) == len(set(names))
        found += [unescaped(message), *(unescaped(pair) for pair in properties.split(","))]
    assert max(text.count(f"\n::{kind} ") for kind in ("error", "warning")) <= 10
    return found


def command_of(line: str) -> str | None:
    """The command that GitHub's runner finds in a line of output."""
    newer = re.match(r"\s*::([\w-]+)[^\n]*?::", line)
    if newer and newer[1] in COMMANDS:
        return newer[1]
    older = re.search(r"##\[([\w-]+)[^\]]*\]", line)
    return older[1] if older and older[1] in COMMANDS else None


def unescaped(text: str) -> str:
    """What an escaped value stands for."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def read_markdown(text: str) -> list[str]:
    """Markdown: no link, no image, no HTML but the folds, and nobody is called."""
    assert len(text.encode()) < 2**20
    found = []
    folds: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "html_block":
            folds += tags(token.content)
        if token.type == "fence":
            assert token.info == "text", "a fence that is not ours"
            found.append(token.content)
        for child in token.children or ():
            assert child.type not in {"link_open", "image", "html_inline"}
            assert child.type != "text" or not re.search(r"@\w", child.content)
            found.append(child.content)
    assert set(folds) <= ALLOWED_HTML
    assert folds.count("<details>") == folds.count("</details>")
    return found


def tags(markup: str) -> list[str]:
    """The tags of a piece of HTML."""
    return re.findall(r"<[^>]*>", markup)


def read_html(text: str) -> list[str]:
    """HTML without a parse error, in which nothing runs, loads or leads away."""
    page = html5lib.HTMLParser(strict=True).parse(text)
    for element in page.iter():
        if not isinstance(element.tag, str):
            raise AssertionError("a comment")  # noqa: TRY004 (what a test finds)
        name = element.tag.removeprefix(XHTML).removeprefix(SVG)
        assert name not in {"script", "iframe", "object", "embed", "img", "form", "link", "base"}
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            assert attribute not in {"src", "style", "action", "srcset", "data"}
            assert attribute != "href" or value.startswith("#")
    identities = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(identities) == len(set(identities))
    body = page.find(f"{XHTML}body")
    assert body is not None
    return [text for text in body.itertext() if text.strip()]


READERS: dict[str, Reader] = {
    "json": lambda text: read_json(text, report_schema()),
    "html": read_html,
    "gradescope": read_gradescope,
    "github-summary": read_markdown,
    "github-annotations": read_annotations,
    "classroom": lambda text: read_json(text, CLASSROOM),
    "classroom-output": read_classroom_output,
    "junit": read_junit,
    "ctrf": lambda text: read_json(text, CTRF),
    "csv": read_csv,
}
