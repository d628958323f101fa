"""A class from above: what was lost, by what, and who changes after a fix."""

import csv
import io
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs336_checks.rubric import load_assignment
from cs336_grader.batch import page, regrade, terminal
from cs336_grader.batch.exports import HandedIn
from cs336_grader.batch.overview import overview
from cs336_grader.batch.records import Graded, Record, Status, save
from cs336_grader.batch.settings import Settings, differences, digest_of
from cs336_grader.batch.submissions import Found, Submission
from cs336_grader.batch.whole_class import row, write_class
from cs336_grader.reports import gradebook
from cs336_grader.reports.formats import FORMATS, Destination, publish
from grader_tests.assignments import TINY
from grader_tests.unit.sample_reports import CASES, DIVIDED, HOSTILE, report
from grader_tests.unit.submissions import write
from grader_tests.unit.two_tracks import two_tracks

SETTINGS = Settings("submissions", str(TINY), "0" * 64, 7)
PADDED = {"test_moving_average": "Your output is what you get when the end is padded.\nMore."}


def graded(name: str, case: str = "all_passed", **changed: object) -> Graded:
    """A submission that is done."""
    judged = case not in ("not_judged", "could_not_judge")
    status = Status.GRADED if judged else Status.NOT_JUDGED
    record = Record(name, name * 8, SETTINGS, status, "" if judged else "No room.")
    return Graded(replace(record, **changed), CASES[case])  # type: ignore[arg-type]


def found(done: Iterable[Graded], *left_out: str) -> Found:
    """The folder that submissions were graded from."""
    names = [one.record.name for one in done]
    submissions = [Submission(name, Path(f"{name}.zip"), f"{name}.zip") for name in names]
    return Found(tuple(submissions), left_out)


def mistaken(name: str) -> Graded:
    """A submission in which a mistake was recognised, and one in another problem that it caused."""
    found = report({**PADDED, "test_count_words": "This comes of it."})
    checks = tuple(
        replace(check, mistakes=("moving_average/padded",)) if check.message else check
        for check in found.checks
    )
    return Graded(graded(name).record, replace(found, checks=checks))


def test_grades_and_losses() -> None:
    """Only what was judged is counted; the problem that cost most comes first."""
    seen = overview([graded("b", "mixed"), graded("a"), graded("c", "could_not_judge")])
    assert [one.record.name for one in seen.done] == ["a", "b", "c"]
    assert seen.percents.keys() == {"a", "b"}
    assert (seen.bins[-1], sum(seen.bins)) == (1, 2)
    assert [one.record.name for one in seen.unjudged] == ["c"]
    assert [loss.lost for loss in seen.problems] == sorted(
        (loss.lost for loss in seen.problems), reverse=True
    )
    first = seen.problems[0]
    assert (first.judged, first.full) == (2, 1)


def test_a_mistake_is_counted_once_where_it_was_made() -> None:
    """Not in what is built on it, and once for a submission."""
    (found,) = overview([mistaken("a"), mistaken("b"), graded("c")]).mistakes
    assert (found.id, found.names) == ("moving_average/padded", ("a", "b"))
    assert found.said == "Your output is what you get when the end is padded."
    assert found.lost == pytest.approx(2.0)


def test_percents_are_of_each_ones_own_maximum() -> None:
    """Who chose a track of fewer points and has them all has as much as anybody."""
    mixed = CASES["mixed"]
    small = replace(mixed, score=2.0, max_score=2.0)
    large = replace(mixed, score=50.0, max_score=100.0)
    done = [replace(graded(name), report=one) for name, one in (("a", small), ("b", large))]
    seen = overview(done)
    assert (seen.mean, seen.median) == (75.0, 75.0)
    assert "2 points (1), 100 points (1)." in page.render("Words", seen, found(done))
    text = terminal.render(seen, found(done), 80, True, ()).plain
    assert "mean 75.0 %, median 75.0 % of each submission's maximum" in text
    assert "own maximum" not in page.render("Words", overview(done[:1]), found(done))


def test_a_class_without_a_grade() -> None:
    """Divides by nothing."""
    seen = overview([graded("a", "could_not_judge")])
    assert (seen.mean, seen.median, sum(seen.bins)) == (0.0, 0.0, 0)
    assert (
        "0 of 1 submissions graded" in terminal.render(seen, found(seen.done), 80, True, ()).plain
    )
    html5lib.HTMLParser(strict=True).parse(page.render("Words", seen, found(seen.done)))


def test_the_page_is_valid_and_shows_no_markup_of_students() -> None:
    """Whatever names they have, and whatever their code said."""
    evil = graded("a<b>", reason=HOSTILE, status=Status.SET_ASIDE)
    many = [mistaken(f"m{number}") for number in range(12)]
    seen = overview([evil, graded("d", "mixed"), graded("e", "not_judged"), *many])
    everybody = found(seen.done, "<i>roster</i>: no folder and no archive")
    script = Submission("a<b>", Path(), "<script>alert(1)</script>", HandedIn(sid="<script>"))
    everybody = replace(everybody, submissions=(script, *everybody.submissions[1:]))
    text = page.render("<b>Words</b>", seen, everybody)
    html5lib.HTMLParser(strict=True).parse(text)
    assert "<script" not in text
    assert "<i>" not in text
    assert "<b>" not in text
    assert "a%3Cb%3E/report.html" in text
    assert "and 2 more" in text


def test_names_as_long_as_they_come_fit_a_telephone() -> None:
    """Mistakes, reasons and who is alike are no tables; those that there are can be scrolled."""
    alike = [graded(name * 80, tokens="token" * 50) for name in "ab"]
    seen = overview([*alike, mistaken("c" * 80), graded("d" * 80, "not_judged")])
    tree = html5lib.parse(page.render("Words", seen, found(seen.done)), namespaceHTMLElements=False)
    classes = {tables.get("class") for tables in tree.iter() if tables.find("table") is not None}
    assert classes == {"wide", "pair"}
    assert len(tree.findall(".//ul[@class='rows']/li")) == 3


def test_what_was_handed_in_is_told_where_it_has_another_name() -> None:
    """An archive's ending alone is none."""
    for file, told in {"ada": "", "ada.tar.gz": "", "submission_7": "submission_7"}.items():
        assert page.handed_in_as(Submission("ada", Path(), file)) == told
    done = [graded("ada"), graded("b")]
    everybody = (Submission("ada", Path(), "ada.zip"), Submission("b", Path(), "submission_7"))
    text = page.render("Words", overview(done), Found(everybody, ()))
    assert "submission_7</span>" in text
    assert "ada.zip" not in text


def test_the_gradebook_has_a_column_for_all_problems_of_anybody(tmp_path: Path) -> None:
    """Tracks differ from one submission to the next; a cell is empty where there is nothing."""
    one = graded("a")
    other = Graded(graded("=b").record, report(assignment=DIVIDED))
    write_class([other, one], found([other, one]), SETTINGS, tmp_path)
    rows = gradebook_rows(tmp_path)
    assert [cells["submission"] for cells in rows] == ["'=b", "a"]
    assert rows[0]["file"] == "'=b.zip"
    assert rows[1]["track numbers"] == ""
    assert rows[0]["track numbers"] != ""


def gradebook_rows(out: Path) -> list[dict[str, str]]:
    """The rows of a class's gradebook."""
    with (out / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def in_tracks(name: str, *tracks: str) -> Graded:
    """A submission that attempts these tracks."""
    both = CASES["two_tracks"]
    problems = tuple(one for one in both.problems if one.track in tracks)
    return Graded(
        graded(name).record,
        replace(
            both,
            score=sum(one.score for one in problems),
            problems=problems,
            tracks=tuple(one for one in both.tracks if one.id in tracks),
        ),
    )


@pytest.mark.parametrize("order", list(permutations(["numbers", "words", "both"])))
def test_columns_are_in_one_order_whoever_comes_first(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    """What everyone has, then tracks, then problems; the points of the tracks are the score."""
    assignment = two_tracks(tmp_path / "assignment")
    settings = replace(SETTINGS, assignment=str(assignment))
    done = [
        in_tracks(f"{place}", *(("numbers", "words") if which == "both" else (which,)))
        for place, which in enumerate(order)
    ]
    write_class(done, found(done), settings, tmp_path)
    rows = gradebook_rows(tmp_path)
    fixed = "submission,file,status,reason,score,max_score,percent,findings,seed,isolation,sha256"
    rubric = load_assignment(assignment).rubric
    tracks = [f"track {track}" for track in rubric.tracks]
    assert list(rows[0]) == [*fixed.split(","), *tracks, *rubric.problems]
    for which, cells in zip(order, rows, strict=True):
        filled = {track for track in rubric.tracks if cells[f"track {track}"]}
        assert filled == ({"numbers", "words"} if which == "both" else {which})
        assert sum(float(cells[track] or 0) for track in tracks) == float(cells["score"])


def test_the_page_says_which_assignment_it_is_of(tmp_path: Path) -> None:
    """In the title of its tab and above all else."""
    done = [graded("a"), graded("b", "not_judged")]
    write_class(done, found(done), SETTINGS, tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<title>Small statistics: 1 of 2 graded</title>" in text
    assert "<h1>Small statistics</h1>" in text


def test_what_a_platform_tells_is_in_the_gradebook_and_on_the_page(tmp_path: Path) -> None:
    """In columns of their own, if it tells so of anybody; an address in the gradebook alone."""
    told = HandedIn(student="Be", sid="=017", email="b@example.org", late=True)
    known = Submission("b", tmp_path, "b.zip", told)
    done = [kept(tmp_path, graded("a")), kept(tmp_path, graded("b"))]
    everybody = Found((Submission("a", tmp_path, "a.zip"), known), ())
    write_class(done, everybody, SETTINGS, tmp_path)
    text = (tmp_path / "gradebook.csv").read_text(encoding="utf-8-sig")
    first, *lines = text.splitlines()
    assert first.startswith("submission,file,student,sid,email,late,status,reason,score,")
    assert lines[0].startswith("a,a.zip,,,,,")
    assert lines[1].startswith("b,b.zip,Be,'=017,b@example.org,late,")
    others = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert not any("example.org" in path.read_text(encoding="utf-8") for path in others)
    shown = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<span class="badge partly">late</span><br><span class="names">id =017</span>' in shown
    assert (
        "Handed in late\n  b (=017)"
        in terminal.render(overview(done), everybody, 80, True, ()).plain
    )


def test_a_row_has_all_that_a_gradebook_of_one_has() -> None:
    """Under the same names."""
    alone = next(csv.DictReader(io.StringIO(gradebook.render(CASES["mixed"])[1:])))
    cells = row(graded("a", "mixed"), Submission("a", Path()))
    assert {name: str(cells[name]) for name in alone if name != "submission"} == {
        name: value for name, value in alone.items() if name != "submission"
    }


@given(
    st.text(st.sampled_from("=+-@＝＋－＠ ,;|\t\n\"'ax1"), max_size=8),  # noqa: RUF001
    st.sampled_from(",;\t|"),
)
def test_no_cell_begins_a_formula_whatever_separates_cells(text: str, separator: str) -> None:
    """Nor does one that begins within a cell, for a spreadsheet that guesses another separator."""
    table = gradebook.table([{"a": text, "b": text, text: "x"}], {"a": 0, "b": 0, text: 0})
    assert table.startswith("\ufeff")
    for cells in csv.reader(io.StringIO(table[1:]), delimiter=separator):
        for cell in cells:
            assert not cell.lstrip(' "').startswith(tuple("=+-@＝＋－＠"))  # noqa: RUF001


def test_cells_are_readable() -> None:
    """Ids keep their zeros, accents are one letter each, and numbers are numbers."""
    rows = [{"sid": "0017", "score": -1.5, "name": "Jose\u0301", "reason": "a; b, c-d"}]
    assert gradebook.table(rows, rows[0]).splitlines()[1] == '0017,-1.5,Jos\xe9,"a; b, c-d"'


def test_settings_that_differ_are_named() -> None:
    """So that whoever starts a batch again knows what is not as it was."""
    now = replace(SETTINGS, seed=8, digest="1", only=("rope", "adamw"), isolation="strict")
    assert differences(SETTINGS, SETTINGS) == []
    assert differences(SETTINGS, now) == [
        "the grader or the assignment has changed since",
        "seed: was 7, now 8",
        "only: was not named, now rope, adamw",
        "isolation: was auto, now strict",
    ]


def test_what_grades_has_a_digest(tmp_path: Path) -> None:
    """Of every file, but not of what Python keeps of it."""
    folder = write(tmp_path / "tests", {"a.py": "1"})
    first = digest_of([folder])
    write(folder, {"__pycache__/a.pyc": "1"})
    assert digest_of([folder]) == first
    write(folder, {"a.py": "2"})
    assert digest_of([folder]) != first


def kept(out: Path, one: Graded) -> Graded:
    """The same, written as a batch does."""
    folder = out / one.record.name
    publish(one.report, [Destination(FORMATS["json"], folder / "report.json")])
    save(folder, one.record)
    return one


def test_who_changes_and_why(tmp_path: Path) -> None:
    """Those alone whose grade is another; with each check, the points, and what was handed in."""
    kept(tmp_path, graded("same", "mixed"))
    kept(tmp_path, graded("better", "mixed"))
    kept(tmp_path, graded("worse"))
    now = [
        graded("same", "mixed"),
        graded("better", digest="other"),
        graded("worse", "could_not_judge"),
        graded("new"),
    ]
    found = {change.name: change for change in regrade.changes(tmp_path, now)}
    assert found.keys() == {"better", "worse", "new"}
    better = found["better"]
    assert better.after == "9 / 9"
    assert better.reasons[0] == "Something else was handed in."
    assert "tests/test_counting.py::test_count_words: failed → passed" in better.reasons
    assert "count_words: 0.0 / 3 → 3.0 / 3." in better.reasons
    assert found["worse"].reasons[0] == "No room."
    assert found["new"].before == "no grade"
    text = regrade.render(list(found.values()), 4, 80, True).plain
    assert text.startswith("3 of 4 grades change")
    assert text.isascii()


def test_points_that_nobody_had_are_no_change(tmp_path: Path) -> None:
    """Where all is as it was, one line says so."""
    kept(tmp_path, graded("a"))
    assert list(regrade.changes(tmp_path, [graded("a")])) == []
    assert regrade.render([], 1, 80, True).plain == "None of 1 grades changes."
