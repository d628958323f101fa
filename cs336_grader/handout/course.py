"""The course text as students get it: chapters with the words of the rubric and of the checks."""

import re
from collections.abc import Container, Iterator
from pathlib import Path, PurePosixPath

from cs336_checks.rubric import COURSE, Assignment, Rubric, RubricError, Tier, chapters

from .student_files import Task, environment

# <!-- rules --> is for what may be used, <!-- problem: rope --> for what is asked of a problem.
PLACEHOLDER = re.compile(r"^<!-- (?:problem: (?P<problem>\w+)|rules) -->$", re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#:\s]+)[^)\s]*\)")


def course_files(
    assignment: Assignment, tasks: dict[str, Task], beneath: Container[str]
) -> dict[str, bytes]:
    """Return the chapters that belong to a student's repository, and the files that they link to.

    A chapter belongs to it that is about no problem, about one that is handed out, or about one
    that these are built on. A link to a chapter that stays behind becomes plain text.

    Args:
        assignment: the author's, limited to the problems that are handed out.
        tasks: these problems, by id.
        beneath: the problems that these are built on.

    Raises:
        RubricError: a chapter is about a problem that is not in the rubric.
    """
    every = chapters(assignment.folder)
    given = {
        chapter
        for chapter, problems in every.items()
        if not problems or any(one in tasks or one in beneath for one in problems)
    }
    left_out = {PurePosixPath(chapter).name for chapter in every.keys() - given}
    files: dict[str, bytes] = {}
    for chapter in given:
        text = (assignment.folder / chapter).read_text(encoding="utf-8")
        named = {place["problem"] for place in PLACEHOLDER.finditer(text)}
        for unknown in sorted(named - {None} - assignment.whole.problems.keys()):
            raise RubricError(f"{chapter}: {unknown} is no problem of the rubric; correct its name")
        text = without_links(render(text, assignment.rubric, tasks), left_out)
        files[chapter] = text.encode()
        files.update(linked(assignment.folder, text))
    return files


def render(text: str, rubric: Rubric, tasks: dict[str, Task]) -> str:
    """Return a chapter with what its placeholders stand for."""

    def filled(place: re.Match[str]) -> str:
        problem = place["problem"]
        if problem is not None and problem not in tasks:
            return f"`{problem}` is no problem of this repository."
        template = "rules.md.jinja" if problem is None else "problem.md.jinja"
        told = {"rubric": rubric, "task": tasks.get(problem or ""), "tiers": Tier, "link": False}
        return environment().get_template(template).render(told).rstrip("\n")

    return PLACEHOLDER.sub(filled, text)


def without_links(text: str, left_out: Container[str]) -> str:
    """Return a chapter in which links to chapters that stay behind are plain text."""
    return LINK.sub(lambda link: link["text"] if link["target"] in left_out else link[0], text)


def linked_files(folder: Path) -> dict[str, bytes]:
    """Return what all chapters link to beside chapters."""
    texts = ((folder / chapter).read_text(encoding="utf-8") for chapter in chapters(folder))
    return {name: content for text in texts for name, content in linked(folder, text)}


def linked(folder: Path, text: str) -> Iterator[tuple[str, bytes]]:
    """Yield what a chapter links to beside chapters: pictures, programs, and their package."""
    for link in LINK.finditer(text):
        path = folder / COURSE / link["target"]
        if path.suffix != ".md" and path.is_file():
            yield f"{COURSE}/{link['target']}", path.read_bytes()
        if path.suffix == ".py":
            yield f"{COURSE}/__init__.py", (folder / COURSE / "__init__.py").read_bytes()
