"""What failed is told once for each cause, the clearest first."""

import json
import textwrap
from dataclasses import replace

import execnet
import pytest

from cs336_checks.failures import cut
from cs336_checks.findings import Clarity, Finding, causes, paragraphs

NAMED = Finding(
    "test_rope",
    "rope",
    "Rotates pairs.",
    "Which features share an angle?",
    "Your output is what you get when pairs are mixed up.",
    "12 of 24 elements differ.\nFirst places that differ: [0, 1].",
    (),
    "uv run pytest tests/test_rope.py::test_rope",
    Clarity.NAMED,
    ("rope/paired",),
)
NUMBERS = replace(
    NAMED, check="test_rope_far", question="", message="3 of 4 elements differ, largest error 2.",
    clarity=Clarity.NUMBERS, mistakes=(),
)  # fmt: skip
RAISED = replace(
    NUMBERS,
    check="test_block",
    problem="block",
    message="TypeError: no number 3",
    lines=("at mine.py:7 in block",),
    clarity=Clarity.RAISED,
)


def told(*findings: Finding, verbose: bool = False) -> str:
    """Return all that is told of findings, where the block is built on rope."""
    below = {"block": ["rope"], "lm": ["rope", "block"]}
    chapters = {"rope": "course/06_rope.md"}
    found = paragraphs(findings, lambda name: below.get(name, []), chapters, verbose=verbose)
    return "\n\n".join("\n".join(lines) for lines in found)


def test_one_finding_reads_from_the_requirement_to_the_command() -> None:
    """The question comes before the name; numbers and places only where they are asked for."""
    assert told(NAMED) == (
        "rope: Rotates pairs.\n"
        "  Which features share an angle?\n"
        "  Your output is what you get when pairs are mixed up.\n"
        "  Read more: course/06_rope.md\n"
        "  Run it alone: uv run pytest tests/test_rope.py::test_rope"
    )
    assert "12 of 24 elements" not in told(NAMED)
    assert "12 of 24 elements" in told(NAMED, verbose=True)


def test_a_chapter_is_told_once_a_problem_and_only_where_there_is_one() -> None:
    """An assignment may have no course text."""
    other = replace(NAMED, check="test_x", message="Shape.", mistakes=(), clarity=Clarity.SEEN)
    assert told(NAMED, other).count("Read more:") == 1
    assert "Read more:" not in told(replace(NAMED, problem="lm"))


def test_a_mistake_is_told_once_and_in_its_own_problem() -> None:
    """Wherever it shows; the checks are named, with their problems where those are others."""
    block = replace(NAMED, check="test_block", problem="block", message="Your block is right.")
    again = replace(NAMED, check="test_rope_lengths")
    text = told(block, NAMED, again)
    assert text.startswith("rope: Rotates pairs.")
    assert text.count("Which features") == 1
    assert "2 more checks fail in the same way: test_rope_lengths; in block (1)." in text


def test_mistakes_that_some_checks_cannot_tell_apart_are_one_cause() -> None:
    """What both name is the cause."""
    either = replace(NAMED, check="test_x", mistakes=("rope/paired", "rope/other"))
    (cause,) = causes([either, NAMED])
    assert cause.mistakes == {"rope/paired"}
    assert cause.told.check == "test_rope"


def test_the_clearest_comes_first_and_numbers_alone_are_named_briefly() -> None:
    """They mostly come of what is told already; with -v, all of it is told."""
    text = told(NUMBERS, replace(NUMBERS, check="test_other", message="NaN."), NAMED)
    assert text.startswith("rope: Rotates pairs.\n  Which features")
    assert "  Also in rope: test_rope_far, test_other fail (all: -v)." in text
    assert "largest error 2" in told(NUMBERS, NAMED, verbose=True)


def test_where_nothing_is_clear_the_first_is_told() -> None:
    """Numbers are better than nothing."""
    text = told(NUMBERS, replace(NUMBERS, check="test_other", message="NaN."))
    assert "3 of 4 elements differ, largest error 2." in text
    assert "Also in rope: test_other fails" in text


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (replace(RAISED, check="test_lm", problem="lm", message="TypeError: no number 4"), True),
        (replace(RAISED, check="test_lm", lines=("at mine.py:9 in lm",)), False),
        (replace(RAISED, check="test_lm", message="ValueError: no number 3"), False),
    ],
)
def test_an_exception_of_one_line_is_told_once(other: Finding, together: bool) -> None:
    """Whatever numbers its text holds, and whichever check meets it."""
    assert len(causes([RAISED, other])) == (1 if together else 2)


def test_a_check_is_told_once_however_many_of_its_cases_fail() -> None:
    """The clearest of them; with -v, all of it."""
    case = replace(NAMED, message="A sentence.", clarity=Clarity.SEEN, mistakes=())
    text = told(NAMED, case, replace(case, message="Another sentence.", check="test_other"))
    assert "A sentence." not in text
    assert "Another sentence." in text
    assert "Also in rope" not in text
    assert "A sentence." in told(NAMED, case, verbose=True)


def test_many_checks_are_counted() -> None:
    """The first ones are named."""
    many = [replace(NAMED, check=f"test_{i}") for i in range(20)]
    assert "20 more checks fail in the same way: test_0, " in told(NAMED, *many)
    assert " and 16 more." in told(NAMED, *many)


def test_a_finding_travels_between_processes() -> None:
    """As plain values, lists in place of tuples included."""
    assert Finding.of(execnet.loads(execnet.dumps(NAMED.plain()))) == NAMED
    assert Finding.of(json.loads(json.dumps(NAMED.plain()))) == NAMED


def test_without_its_explanation_a_finding_has_its_numbers() -> None:
    """Where what passed contradicts the mistake."""
    bare = NAMED.without_explanation()
    assert (bare.question, bare.message, bare.mistakes) == ("", "12 of 24 elements differ.", ())
    assert bare.details == "First places that differ: [0, 1]."


def test_what_is_built_on_a_wrong_part_is_counted() -> None:
    """It mostly fails for the part; one exception a problem is told, and with -v all of it."""
    block = replace(NUMBERS, check="test_block", problem="block")
    model = [replace(NUMBERS, check=f"test_lm_{i}", problem="lm") for i in range(3)]
    text = told(NAMED, block, *model)
    assert text.endswith(
        "Checks of what is built on this fail as well: block (1), lm (3). All: -v."
    )
    assert "block: Rotates" not in text
    assert "block: Rotates" in told(NAMED, block, verbose=True)
    assert "TypeError" in told(NAMED, RAISED)
    other = replace(RAISED, message="ValueError: no", lines=())
    assert "ValueError" not in told(NAMED, RAISED, other)
    assert "ValueError" not in told(NAMED, RAISED, replace(other, check="test_lm", problem="lm"))
    assert "block: Rotates" in told(block), "its parts are right"


def test_one_mistake_in_a_part_fits_on_a_screen() -> None:
    """However many checks fail of however many problems that are built on it."""
    sentence = "A sentence that says what is wrong, and is as long as most of them are. " * 2
    own = [replace(RAISED, problem="rope", lines=(f"at mine.py:{i} in rope",)) for i in range(30)]
    built = [
        replace(
            RAISED, problem=f"{name}_{i}", check=f"test_{name}_{j}", lines=(f"at {i}", f"by {j}")
        )
        for name in ("block", "model")
        for i in range(9)
        for j in range(9)
    ]
    findings = [replace(one, message=sentence, question=sentence) for one in (NAMED, *own, *built)]
    chapters = {one.problem: "course/06_rope.md" for one in findings}
    below = {one.problem: ["rope"] for one in findings} | {"rope": []}
    found = paragraphs(findings, below.__getitem__, chapters, verbose=False)
    wrapped = [textwrap.wrap(line, 80) for lines in found for line in [*lines, "-"]]
    assert sum(map(len, wrapped)) <= 41


def test_a_long_text_is_cut() -> None:
    """With how much is left out, in lines and in characters."""
    lines = cut("\n".join(str(i) for i in range(20))).split("\n")
    assert lines[-2:] == ["7", "(12 more lines)"]
    assert cut("x" * 1000) == "x" * 400 + " … (600 more characters)"
    assert cut("short") == "short"
