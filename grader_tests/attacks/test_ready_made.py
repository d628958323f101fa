"""A right answer that is a ready-made one earns nothing, however it is come by."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader import pipeline
from cs336_grader.judges import Template, lesson
from cs336_grader.records import Consequence, Report, Verdict
from cs336_grader.request import Request
from grader_tests.assignments import TINY
from grader_tests.unit.submissions import write

from .ready_made import CAUGHT, HEAD, REST, SUSPECT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked as on Linux")
SEED = 3
Graded = Callable[[str], Report]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    """What all submissions are graded by, as those of a class are."""
    assignment = load_assignment(TINY)
    folder = tmp_path_factory.mktemp("template")
    made = Template(lesson(assignment, SEED, assignment.checks.values()), folder)
    yield made
    made.close()


@pytest.fixture
def graded(template: Template, tmp_path: Path) -> Graded:
    """Makes the report on a submission with a moving average."""

    def grade(answer: str) -> Report:
        submission = write(tmp_path / "ready_made", {"tests/adapters.py": HEAD + answer + REST})
        request = Request(submission, TINY, SEED, (), tmp_path / "report")
        found = pipeline.grade(request, lambda _: None, template.judges)
        assert {problem.verdict for problem in found.problems} == {Verdict.PASSED}
        return found

    return grade


@pytest.mark.parametrize("way", CAUGHT)
def test_a_ready_made_answer_earns_nothing(graded: Graded, way: str) -> None:
    """Its checks pass and it gets no point; the other problems keep theirs."""
    found = graded(CAUGHT[way])
    scores = {problem.id: problem.score for problem in found.problems}
    assert scores == {"moving_average": 0.0, "count_words": 3.0, "running_totals": 2.0}
    costly = [one for one in found.findings if one.consequence is Consequence.COSTS_POINTS]
    assert {(one.problem, one.file) for one in costly} == {("moving_average", "tests/adapters.py")}


@pytest.mark.parametrize("way", SUSPECT)
def test_hiding_asks_for_a_look(graded: Graded, way: str) -> None:
    """What cannot be seen is at least suspected."""
    findings = graded(SUSPECT[way]).findings
    assert Consequence.HUMAN_LOOK in {one.consequence for one in findings}
