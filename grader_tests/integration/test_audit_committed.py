"""The audit in docs/ is of the checks, mistakes and variants that there are: make audit."""

import json
from typing import Any

import jsonschema
import pytest

from correct_variants import VARIANTS
from cs336_grader.audit.sources import check_digests, mistake_digests
from degenerate_work import DEGENERATE
from grader_tests.assignments import ASSIGNMENT, ROOT
from known_mistakes import MISTAKES

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def committed() -> Any:
    """What docs/audit.json holds."""
    return json.loads((DOCS / "audit.json").read_text(encoding="utf-8"))


def test_it_is_of_what_there_is(committed: Any) -> None:
    """Every check, mistake and variant of today is in it, with today's words, and nothing else."""
    checks = ASSIGNMENT.checks.values()
    assert {each["name"]: each["requirement"] for each in committed["checks"]} == {
        check.name: check.requirement for check in checks
    }, "Run: make audit"
    assert {each["id"]: each["sentence"] for each in committed["mistakes"]} == {
        mistake.id: mistake.wrong for mistake in MISTAKES
    }, "Run: make audit"
    sources = check_digests(ASSIGNMENT) | mistake_digests(MISTAKES)
    assert committed["sources"] == sources, "Run: make audit"
    degenerate = {each["id"] for each in committed["degenerate"]}
    assert degenerate >= {known.id for known in DEGENERATE}, "Run: make audit"
    assert set(committed["variants"]) == {variant.id for variant in VARIANTS}, "Run: make audit"


def test_it_is_sound(committed: Any) -> None:
    """Nothing that should hold does not, and the file is as its schema says."""
    assert committed["faults"] == []
    schema = json.loads((DOCS / "audit.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(committed, schema)


def test_the_page_is_of_the_same_audit(committed: Any) -> None:
    """Each mistake's sentence is on the page."""
    html = (DOCS / "audit.html").read_text(encoding="utf-8")
    assert html.count('aria-label="fails') + html.count('aria-label="alone') == sum(
        len(each["caught_by"]) + len(each["sometimes"]) for each in committed["mistakes"]
    )
