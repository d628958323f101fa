"""What an audit makes of trials, on made-up ones: survivors, idle checks, twins, margins."""

import json
import os
import signal
import threading
import time
from dataclasses import replace
from math import inf
from pathlib import Path

import jsonschema
import pytest

from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader import interruptions
from cs336_grader.audit import findings, json_file, page, schema, summary, terminal, workers
from cs336_grader.audit.records import Audit, Entry, Job, Kind, Listing, Trial, Trials
from grader_tests.assignments import ROOT

RUBRIC = """
title = "Made up"
package = "made_up"
[problems.one]
title = "One"
points = 1
adapters = ["run_one"]
core = ["test_a", "test_b"]
advice = ["test_c"]
"""
# What is seen of each check: nothing wrong, how far off its comparison is, or what was raised.
Seen = dict[str, float | str]
SOUND: dict[str, Seen] = {
    "reference": {"test_a": 0.0, "test_b": 0.0, "test_c": 0.0},
    "stubs": dict.fromkeys(("test_a", "test_b", "test_c"), "NotImplementedError: "),
    "one/variant": {"test_a": 0.02, "test_b": 0.01, "test_c": 40.0},
    "one/wrong": {"test_a": 300.0, "test_b": 0.0, "test_c": 0.0},
    "one/bad": {"test_a": 12.0, "test_b": inf, "test_c": 2.0},
    "one/zeros": {"test_a": "AssertionError: ", "test_b": 0.0, "test_c": 0.0},
}
LISTING = Listing(
    (
        Entry("reference", Kind.REFERENCE, "one", "the reference"),
        Entry("stubs", Kind.STUBS, "one", "nothing"),
        Entry("one/variant", Kind.VARIANT, "one", "Is right."),
        Entry("one/wrong", Kind.MISTAKE, "one", "it is wrong"),
        Entry("one/zeros", Kind.DEGENERATE, "one", "Answers zeros."),
        Entry("one/bad", Kind.MISTAKE, "one", "it is bad"),
    ),
    {},
)


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    """An assignment of one problem with three checks."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    functions = [f'def test_{name}():\n    """Asks for {name}."""\n' for name in "abc"]
    (tmp_path / "tests" / "test_one.py").write_text("\n".join(functions), encoding="utf-8")
    return load_assignment(tmp_path)


def trials(seed: int, seen: dict[str, Seen], alike: tuple[tuple[str, ...], ...] = ()) -> Trials:
    """What came of a job."""
    found = tuple(
        Trial(name, check, what, {})
        if isinstance(what, str)
        else Trial(name, check, None, {check: what})
        for name, checks in seen.items()
        for check, what in checks.items()
    )
    return Trials(Job("one", seed, mistakes=True), found, alike)


def audited(assignment: Assignment, *jobs: Trials, listing: Listing = LISTING) -> Audit:
    """What an audit says of jobs."""
    return findings.audit(assignment, listing, jobs)


def changed(name: str, **seen: float | str) -> dict[str, Seen]:
    """What is sound, but for some checks with one implementation."""
    return {**SOUND, name: {**SOUND[name], **seen}}


def told(audit: Audit) -> list[str]:
    """The faults in words."""
    return [f"{fault.subject} {fault.message}" for fault in audit.faults]


def test_a_sound_suite(assignment: Assignment) -> None:
    """Right passes, wrong fails, both clearly: nothing is to be said. Advice costs nothing."""
    found = audited(assignment, trials(0, SOUND), trials(1, SOUND))
    assert told(found) == []
    assert found.seeds == found.mistake_seeds == (0, 1)
    assert [mistake.caught_by for mistake in found.mistakes] == [
        ("test_a",),
        ("test_a", "test_b", "test_c"),
    ]


@pytest.mark.parametrize(
    ("name", "seen", "message"),
    [
        ("one/wrong", {"test_a": 0.5}, "one/wrong survives: it is wrong"),
        ("one/wrong", {"test_a": 0.5, "test_c": inf}, "one/wrong survives: it is wrong"),
        (
            "one/variant",
            {"test_b": "ValueError: no"},
            "one/variant is right and fails test_b at seed 1: ValueError: no",
        ),
        (
            "reference",
            {"test_c": 3.0},
            "reference is right and fails test_c at seed 1: test_c: off by 3 times what is allowed",
        ),
        ("stubs", {"test_c": 0.0}, "test_c passes at seed 1 where nothing is written"),
        (
            "one/variant",
            {"test_b": 0.2},
            "test_b one/variant is right and off by 0.2 of what is allowed, more than a tenth",
        ),
        (
            "one/wrong",
            {"test_a": 4.0},
            "test_a one/wrong is wrong and off by 4 times what is allowed, less than ten times, "
            "and is seen no better elsewhere",
        ),
    ],
)
def test_what_does_not_hold_at_one_seed(
    assignment: Assignment, name: str, seen: Seen, message: str
) -> None:
    """A fault at any seed is a fault, and the only one."""
    found = audited(assignment, trials(0, SOUND), trials(1, changed(name, **seen)))
    assert message in told(found)
    assert all(fault.startswith(message.split(maxsplit=1)[0]) for fault in told(found))


def test_a_check_that_does_not_run(assignment: Assignment) -> None:
    """A check without a case is no check."""
    seen = {
        name: {check: what for check, what in checks.items() if check != "test_b"}
        for name, checks in SOUND.items()
    }
    assert told(audited(assignment, trials(0, seen))) == ["test_b does not run at seed 0"]


def test_a_mistake_counts_where_it_is_seen_best(assignment: Assignment) -> None:
    """It may be near in one comparison if it is far in another, at each seed."""
    near = changed("one/wrong", test_a=2.0, test_b=50.0)
    found = audited(assignment, trials(0, near), trials(1, changed("one/wrong", test_b=20.0)))
    assert told(found) == []
    assert (found.mistakes[0].clearest, found.mistakes[0].distance) == ("test_b", 20.0)
    nearest = {each.id: (each.nearest, each.nearest_mistake) for each in found.comparisons}
    assert nearest == {"test_a": (None, ""), "test_b": (20.0, "one/wrong"), "test_c": (None, "")}


def test_a_mistake_that_raises_needs_no_tolerance(assignment: Assignment) -> None:
    """What fails for another reason than a number is far from everything."""
    found = audited(assignment, trials(0, changed("one/wrong", test_a=2.0, test_b="TypeError: no")))
    assert told(found) == []
    assert (found.mistakes[0].clearest, found.mistakes[0].distance) == ("test_b", None)


def test_degenerate_work_may_earn_next_to_nothing(assignment: Assignment) -> None:
    """What it earns by the rubric is told, and is a fault where it is more than a twentieth."""
    (nothing,) = audited(assignment, trials(0, SOUND)).degenerate
    assert (nothing.points, nothing.passes) == (0.0, ("test_b",))
    found = audited(assignment, trials(0, changed("one/zeros", test_a=0.0)))
    assert found.degenerate[0].share == 1.0
    assert told(found) == [
        "one/zeros earns 100% of the points without any work: it passes test_a, test_b"
    ]
    text = " ".join(terminal.render(found, 80, True, ()).plain.split())
    assert "in 1 way: it earns at most 100% of a problem's points (one/zeros)" in text
    assert "<code>one/zeros</code>" in page.render(found)


def test_what_catches_a_mistake_at_some_seeds(assignment: Assignment) -> None:
    """A check that fails at one seed only does not count as catching it."""
    found = audited(assignment, trials(0, SOUND), trials(1, changed("one/bad", test_b=0.0)))
    assert found.mistakes[1].caught_by == ("test_a", "test_c")
    assert found.mistakes[1].sometimes == ("test_b",)


def test_what_checks_are_good_for(assignment: Assignment) -> None:
    """A check alone between a mistake and its points, one that others replace, one for nothing."""
    found = audited(assignment, trials(0, SOUND))
    assert [(check.catches, check.alone) for check in found.checks] == [
        (2, ("one/wrong",)),
        (1, ()),
        (1, ()),
    ]
    assert [check.name for check in summary.idle(found)] == ["test_b"]


def test_what_draws_nothing_counts_at_every_seed(assignment: Assignment) -> None:
    """What is the same at every seed is run at the first, and fails at the others as well."""
    first = trials(0, SOUND)
    fixed = tuple(replace(each, drawn=each.check != "test_b") for each in first.trials)
    drawn = tuple(each for each in fixed if each.drawn)
    found = audited(
        assignment,
        replace(first, trials=fixed),
        replace(first, job=Job("one", 1, mistakes=True), trials=drawn),
    )
    assert told(found) == []
    assert found.mistakes == audited(assignment, first, trials(1, SOUND)).mistakes


def test_twins_are_alike_at_every_seed(assignment: Assignment) -> None:
    """Mistakes that one seed tells apart are no twins."""
    pair = ("one/wrong", "one/bad")
    assert audited(assignment, trials(0, SOUND, (pair,)), trials(1, SOUND, (pair,))).twins == (
        pair,
    )
    assert audited(assignment, trials(0, SOUND, (pair,)), trials(1, SOUND)).twins == ()


def test_a_narrow_margin_with_a_reason(assignment: Assignment) -> None:
    """A reason excuses a narrow margin, and is a fault where the margin is wide."""
    listing = Listing(LISTING.entries, {"test_b": "half precision"})
    narrow = trials(0, changed("one/variant", test_b=0.2))
    assert told(audited(assignment, narrow, listing=listing)) == []
    assert told(audited(assignment, trials(0, SOUND), listing=listing)) == [
        "test_b its margins are wide: delete its reason for a narrow one"
    ]
    renamed = Listing(LISTING.entries, {"test_b[2] output": "half precision"})
    assert told(audited(assignment, trials(0, SOUND), listing=renamed)) == [
        "test_b[2] output is no comparison: delete its reason for a narrow margin"
    ]


def test_what_is_printed(assignment: Assignment) -> None:
    """The text names each fault, question and margin, and what is the sum of it."""
    seen = changed("one/wrong", test_a=0.5)
    text = terminal.render(
        audited(assignment, trials(0, seen, (("one/wrong", "one/bad"),))), 80, True, ("a.json",)
    ).plain
    for line in (
        "x one                                  3      1 of 2      0.02         -",
        "  x one/wrong survives: it is wrong",
        "    one/wrong = one/bad",
        "x Not sound: 1 fault.",
        "Saved as a.json",
    ):
        assert f"{line}\n" in f"{text}\n"


def test_the_file_fits_its_schema(assignment: Assignment) -> None:
    """The committed schema is that of the record, and what is written fits it."""
    published = json.loads((ROOT / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
    assert published == schema.schema()
    written = json.loads(
        json_file.render(audited(assignment, trials(0, changed("stubs", test_a=0.0))))
    )
    jsonschema.validate(written, published)
    assert written["faults"][0]["subject"] == "test_a"


def test_the_long_jobs_come_first() -> None:
    """What has most to try begins first, so that no process is left with it at the end."""
    jobs = workers.planned(["one"], LISTING)
    assert [job.mistakes for job in jobs] == [True] * 2 + [False] * 3
    assert [job.seed for job in jobs] == list(range(5))
    assert [job.drawn_only for job in jobs] == [False] + [True] * 4


def test_the_page_stands_alone(assignment: Assignment) -> None:
    """It loads nothing, says in words who fails what, and escapes all it is given."""
    entries = (*LISTING.entries[:-1], Entry("one/bad", Kind.MISTAKE, "one", "a <b> & \x1b[31m"))
    html = page.render(audited(assignment, trials(0, SOUND), listing=Listing(entries, {})))
    assert "default-src 'none'" in html
    assert "a &lt;b&gt; &amp; <" in html
    assert html.count('aria-label="fails"') == 3
    assert html.count('aria-label="alone fails"') == 1
    assert "<script" not in html
    assert "http:" not in html
    assert "https:" not in html


@pytest.mark.parametrize("other_threads", [0, 1])
def test_an_interruption_while_processes_start_comes_afterwards(other_threads: int) -> None:
    """It is neither lost nor in the middle of that, whichever thread the system tells of it."""
    reached = False
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait, daemon=True) for _ in range(other_threads)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyboardInterrupt), interruptions.held():  # noqa: PT012 (both are looked at)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # another thread takes it in its own time
        reached = True
    ended.set()
    assert reached
