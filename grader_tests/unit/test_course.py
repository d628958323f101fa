"""The course text: its examples give what they say, and it leaves no problem out."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from course import pictures
from cs336_checks.rubric import chapters
from grader_tests.assignments import ASSIGNMENT, ROOT
from tests import adapters

COURSE = ROOT / "course"
TEXTS = sorted(COURSE.glob("*.md"))
CHAPTERS = [path for path in TEXTS if path.name[0].isdigit()]
# What requirements write in one line, and what the text has for it.
SYMBOLS = {
    "QKᵀ": r"Q K^\top",
    "√d_k": r"\sqrt{d_k}",
    "√d_model": r"\sqrt{d_\text{model}}",
    "Wᵀ": r"W^\top",
    "W₁": "W_1",
    "W₂": "W_2",
    "W₃": "W_3",
    "Θ": r"\Theta",
    "Φ": r"\Phi",
    "d_ff": r"d_\text{ff}",
    "epsilon": r"\varepsilon",
    "1e-5": "10^{-5}",
    "weight_decay": "weight_decay",
    "param_groups": "param_groups",
    "state_dict": "state_dict",
    "U+FFFD": "U+FFFD",
    "n - m - 1": "n - m - 1",
    "·": "",
}
BLOCK = re.compile(r"^```(\w+[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def blocks(path: Path, kind: str) -> list[str]:
    """Return the fenced blocks of a kind."""
    text = path.read_text(encoding="utf-8")
    return [block for found, block in BLOCK.findall(text) if found == kind]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_examples_give_what_they_say(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example calls adapters alone, as students do, and the reference agrees with it."""
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(
        "\n".join(blocks(path, "pycon")), vars(adapters), path.name, str(path), 0
    )
    assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0


@pytest.mark.parametrize("track", ["modern", "classic"])
def test_the_runs_of_the_text_work(track: str, tmp_path: Path) -> None:
    """Each program of the chapter on training runs as it stands, here for few steps."""
    [program] = blocks(COURSE / "13_train_your_own_model.md", f"python run {track}")
    short, replaced = re.subn(r"STEPS, STORIES = .*", "STEPS, STORIES = 2, 200", program)
    assert replaced == 1
    (tmp_path / "run.py").write_text(short, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, check=True)
    lines = (tmp_path / "baseline.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "step,seconds,training_loss,validation_loss"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    """Every link and picture within the text has a target."""
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert not [link for link in links if not (path.parent / link).exists()]


def test_every_problem_has_one_chapter() -> None:
    """A chapter names its problems at its beginning, and has a place for what is asked of each."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in CHAPTERS)
    told = re.findall(r"<!-- problem: (\w+) -->", text)
    assert sorted(told) == sorted(ASSIGNMENT.rubric.problems)
    named = [name for problems in chapters(ROOT).values() for name in problems]
    assert sorted(named) == sorted(told)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_shows_the_adapters_of_its_problems(path: Path) -> None:
    """Its examples call the adapters that its problems have, so that students can compare."""
    text = path.read_text(encoding="utf-8")
    problems = re.findall(r"<!-- problem: (\w+) -->", text)
    called = set(re.findall(r"\b(?:run|get)_\w+(?=\()", "\n".join(blocks(path, "pycon"))))
    published = {name for one in problems for name in ASSIGNMENT.rubric.problems[one].adapters}
    assert published <= called


def test_every_picture_is_shown_and_described() -> None:
    """A picture that no chapter shows, or that has no words for who cannot see it, is a fault."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in CHAPTERS)
    shown = re.findall(r"!\[([^\]]*)\]\(pictures/(\w+)\.svg\)", text)
    assert sorted(name for _, name in shown) == sorted(pictures.DRAWN)
    assert all(len(words) > 40 for words, _ in shown)
    assert {path.stem for path in pictures.PICTURES.iterdir()} == pictures.DRAWN.keys()


def test_the_script_draws_the_pictures(tmp_path: Path) -> None:
    """The same version of matplotlib draws the same bytes, another one the same words."""
    pictures.draw(tmp_path)
    for path in pictures.PICTURES.iterdir():
        committed, drawn = path.read_text("utf-8"), (tmp_path / path.name).read_text("utf-8")
        assert re.findall(r"<text[^>]*>([^<]*)", drawn) == re.findall(
            r"<text[^>]*>([^<]*)", committed
        )
        if f"Matplotlib v{mpl.__version__}," in committed:
            assert drawn == committed, f"{path.name}: draw it anew with python -m course.pictures"


def test_every_symbol_of_a_requirement_is_in_its_chapter() -> None:
    """A requirement speaks of nothing that its chapter does not define."""
    for check in ASSIGNMENT.checks.values():
        chapter = (ROOT / ASSIGNMENT.chapters[check.problem]).read_text(encoding="utf-8")
        left = check.requirement
        for symbol, meaning in SYMBOLS.items():
            assert symbol not in left or meaning in chapter, (check.name, symbol)
            left = left.replace(symbol, "")
        assert left.isascii(), f"{check.name} has a symbol that is not known here: {left}"
