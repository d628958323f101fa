"""The course text in a student's repository."""

import re
from pathlib import Path

import pytest

from cs336_checks.rubric import RubricError, load_assignment
from cs336_grader.handout.contents import build
from grader_tests.assignments import ASSIGNMENT, ROOT, TINY

CHOICES: list[tuple[str, ...]] = [(), ("modern",), ("classic",)]
HANDED_OUT = {tracks: build(ASSIGNMENT, tracks).files for tracks in CHOICES}


@pytest.fixture
def author(tmp_path: Path) -> Path:
    """A copy of the small assignment, with a course text of one chapter and solutions."""
    folder = tmp_path / "author"
    for path in TINY.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            (folder / path.relative_to(TINY)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(TINY)).write_bytes(path.read_bytes())
    (folder / "course").mkdir()
    (folder / "course/solutions.md").write_text("# Solutions\n", encoding="utf-8")
    write_chapter(folder, 'problems = ["count_words"]')
    return folder


def write_chapter(folder: Path, front: str) -> None:
    """Write the small assignment's chapter."""
    text = f"<!--\n{front}\n-->\n# Counting\n\n<!-- problem: count_words -->\n\n<!-- rules -->\n"
    (folder / "course/01_counting.md").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("tracks", HANDED_OUT, ids=lambda tracks: "-".join(tracks) or "all")
def test_every_problem_has_its_chapter_and_no_solution_is_there(tracks: tuple[str, ...]) -> None:
    """A chapter has each requirement of its problems; README and manifest name it."""
    files = HANDED_OUT[tracks]
    text = "\n".join(made.decode() for file, made in files.items() if file.endswith(".md"))
    readme = files["README.md"].decode()
    for name, problem in ASSIGNMENT.rubric.problems.items():
        if not tracks or problem.track in tracks:
            found = re.search(rf'<a id="{name}">.*?Read first: \[(.*?)\]', readme, re.DOTALL)
            assert found is not None
            chapter = files[found[1]].decode()
            assert f"(`{name}`, {problem.points:g} point" in chapter
            for _, check in problem.checks():
                assert f"- {ASSIGNMENT.checks[check].requirement}\n" in chapter
    assert "course/solutions.md" not in files
    assert (ROOT / "course/solutions.md").read_text(encoding="utf-8")[:60] not in text
    assert not re.search(r"^<!-- (problem|rules|requirements)", text, re.MULTILINE)


@pytest.mark.parametrize("tracks", HANDED_OUT, ids=lambda tracks: "-".join(tracks) or "all")
def test_every_link_of_it_leads_somewhere(tracks: tuple[str, ...]) -> None:
    """A link to a chapter of the other track is plain text."""
    files = HANDED_OUT[tracks]
    for file in files:
        if file.startswith("course/") and file.endswith(".md"):
            links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", files[file].decode())
            assert {f"course/{link}" for link in links} <= files.keys(), file


def test_a_track_has_the_chapters_it_needs() -> None:
    """Its own, those that it is built on, and those that are about no problem."""
    classic = {file for file in HANDED_OUT["classic",] if re.match(r"course/\d", file)}
    assert {"course/01_how_to_work.md", "course/07_attention.md"} <= classic
    assert "course/11_classic_model.md" in classic
    assert "course/02_bpe_training.md" not in classic
    assert "course/11_classic_model.md" not in HANDED_OUT["modern",]
    assert (
        "`linear` is no problem"
        in HANDED_OUT["classic",]["course/04_linear_and_embedding.md"].decode()
    )


def test_a_chapter_says_what_rubric_and_checks_say(author: Path) -> None:
    """Of its problems, with their adapters' parameters, and of what may be used."""
    files = build(load_assignment(author)).files
    chapter = files["course/01_counting.md"].decode()
    assert "Adapter `run_count_words(" in chapter
    assert "You build the parts yourself." in chapter
    assert "course/solutions.md" not in files


def test_a_chapter_without_its_problems_is_an_error(author: Path) -> None:
    """The message says what the chapter begins with."""
    write_chapter(author, "problem = 1")
    with pytest.raises(RubricError, match="a chapter begins with"):
        build(load_assignment(author))


def test_a_chapter_names_problems_that_there_are(author: Path) -> None:
    """The message says which one is not there."""
    write_chapter(author, 'problems = ["count_wrods", "count_words"]')
    with pytest.raises(RubricError, match="count_wrods is no problem of the rubric"):
        build(load_assignment(author))
