"""What is in a student's repository, and what is not."""

import ast
import re
import shutil
import tomllib
from functools import cache
from pathlib import Path

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader.handout.contents import Handout, build
from cs336_grader.handout.leaks import leaks
from cs336_grader.handout.manifest import MANIFEST, Manifest
from cs336_grader.judging.choice import UnknownNameError
from grader_tests.assignments import ASSIGNMENT, ROOT, TINY


@cache
def handed_out(folder: Path) -> Handout:
    """The students' repository of an assignment."""
    return build(load_assignment(folder))


@pytest.fixture
def author(tmp_path: Path) -> Path:
    """A copy of the small assignment, to change something in."""
    shutil.copytree(TINY, tmp_path / "author", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "author"


@pytest.mark.parametrize("folder", [TINY, ROOT], ids=["tiny", "own"])
def test_it_is_the_same_when_it_is_built_twice(folder: Path) -> None:
    """Names, order and bytes."""
    again = build(load_assignment(folder))
    assert list(again.files.items()) == list(handed_out(folder).files.items())


def test_git_takes_no_reports_and_no_grades() -> None:
    """Where somebody grades from the students' repository, "git add -A" publishes none of it."""
    assert {"report/", "class/"} <= set(handed_out(TINY).files[".gitignore"].decode().splitlines())


@pytest.mark.parametrize("folder", [TINY, ROOT], ids=["tiny", "own"])
def test_the_suite_comes_as_it_is(folder: Path) -> None:
    """All of it but the adapters, and the lines of the rubric that name what stays behind."""
    for file, content in handed_out(folder).files.items():
        if file.startswith("tests/") and file not in {"tests/adapters.py", "tests/rubric.toml"}:
            assert content == (folder / file).read_bytes(), file
    public = tomllib.loads(handed_out(folder).files["tests/rubric.toml"].decode())
    private = tomllib.loads((folder / "tests/rubric.toml").read_text(encoding="utf-8"))
    hidden = {"known_mistakes", "correct_variants", "degenerate_work"}
    assert public == {key: value for key, value in private.items() if key not in hidden}


def test_every_adapter_is_a_stub_that_names_its_problem() -> None:
    """With its signature, its docstring, and what to do."""
    tree = ast.parse(handed_out(ROOT).files["tests/adapters.py"])
    reference = ast.parse((ROOT / "tests/adapters.py").read_bytes())
    published = {node.name: node for node in reference.body if isinstance(node, ast.FunctionDef)}
    stubs = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert stubs.keys() == published.keys()
    for problem, table in ASSIGNMENT.rubric.problems.items():
        for name in table.adapters:
            text, raised = stubs[name].body
            assert ast.unparse(stubs[name].args) == ast.unparse(published[name].args)
            assert ast.unparse(text) == ast.unparse(published[name].body[0])
            assert re.match(rf"raise NotImplementedError\('{problem}: write ", ast.unparse(raised))


def test_the_package_has_what_adapters_call_and_no_part_of_the_solution() -> None:
    """Of the classes and functions; no module is empty, no import is unused or missing."""
    files = handed_out(ROOT).files
    package = {file: text for file, text in files.items() if file.startswith("cs336_basics/")}
    defined = {
        node.name
        for text in package.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert {"Linear", "rope", "forward", "train_bpe", "encode_iterable"} <= defined
    assert not {"PairIndex", "split_heads", "merge_pairs"} & defined
    for file, text in package.items():
        compile(text, file, "exec")


@pytest.mark.parametrize(
    ("track", "beneath"),
    [
        ("modern", []),
        ("classic", ["Linear", "Embedding", "softmax", "scaled_dot_product_attention"]),
    ],
)
def test_a_track_alone_can_be_done_from_what_is_handed_out(track: str, beneath: list[str]) -> None:
    """It names no file that stays behind, and has what its problems are built on in another."""
    made = build(ASSIGNMENT, (track,))
    assert leaks(ASSIGNMENT, made) == []
    defined = {
        node.name: file
        for file, text in made.files.items()
        if file.startswith("cs336_basics/")
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    readme = made.files["README.md"].decode().partition("### What the problems are built on")[2]
    told = re.findall(r"^- `(\w+)` in `(.*)`\.", readme, re.MULTILINE)
    assert told == [(name, defined[name]) for name in beneath]


def test_the_readme_has_every_problem_with_its_points() -> None:
    """And what each check asks for, in the rubric's order."""
    readme = handed_out(ROOT).files["README.md"].decode()
    places = [readme.index(f'<a id="{name}">') for name in ASSIGNMENT.rubric.problems]
    assert places == sorted(places)
    for check in ASSIGNMENT.checks.values():
        assert f"- {check.requirement}\n" in readme
    for name in ASSIGNMENT.rubric.rules.forbidden:
        assert f"`{name}`" in readme
    for line in readme.splitlines():
        assert line == line.rstrip()


def test_the_readme_speaks_of_the_tracks_that_there_are() -> None:
    """Of two where both are handed out, each with its first step; of one as of all there is."""
    both = handed_out(ROOT).files["README.md"].decode()
    assert "There are two tracks, and each can be done without the other" in both
    assert "begin with [`linear`](#linear), or in the classic track with [`gelu`](#gelu)." in both
    assert "`uv run pytest --track classic` runs its checks alone." in both
    assert both.index("\nModern track (`modern`), 63 points:") < both.index("\nClassic track (`")
    classic = build(ASSIGNMENT, ("classic",)).files["README.md"].decode()
    assert classic.startswith(f"# {ASSIGNMENT.rubric.title}: classic track\n")
    assert "begin with [`gelu`](#gelu).\n" in classic
    assert "uv run pytest -k gelu\n" in classic
    assert "`linear`" not in classic
    assert "modern" not in classic.lower()
    assert "track" not in handed_out(TINY).files["README.md"].decode()


def test_the_readme_promises_what_the_rubric_does(author: Path) -> None:
    """Where every problem pays for itself, nobody reads otherwise."""
    path = author / "tests/rubric.toml"
    text = path.read_text(encoding="utf-8")
    built_on = 'title = "Word counts"\nbuilt_on = { moving_average = 0.8 }'
    path.write_text(text.replace('title = "Word counts"', built_on), encoding="utf-8")
    told = "Built on `moving_average`: a mistake there does not cost most of these points again.\n"
    assert told in build(load_assignment(author)).files["README.md"].decode()
    alone = path.read_text(encoding="utf-8").replace(
        "[scoring]", "[scoring]\ncarry_forward = false"
    )
    path.write_text(alone, encoding="utf-8")
    readme = build(load_assignment(author)).files["README.md"].decode()
    assert "Built on `moving_average`.\n" in readme
    assert "again" not in readme


def test_actions_are_those_that_this_repository_uses() -> None:
    """Pinned in the same way, so that an update of one is noticed in the other."""
    own = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: .*", handed_out(ROOT).files[".github/workflows/grade.yml"].decode())
    assert used
    assert all(action in own for action in used)


def test_the_manifest_lists_every_file_once() -> None:
    """The author's with their digests, the student's without."""
    made = handed_out(TINY)
    manifest = Manifest.model_validate_json(made.files[MANIFEST])
    assert sorted([*manifest.files, *manifest.own, MANIFEST]) == list(made.files)
    assert set(manifest.own) == made.own
    assert "tests/adapters.py" in made.own
    assert "tests/rubric.toml" not in made.own


def test_nothing_of_the_solution_is_found() -> None:
    """In the repository that is handed out of this one."""
    assert leaks(ASSIGNMENT, handed_out(ROOT)) == []


@pytest.mark.parametrize(
    ("file", "planted", "origin"),
    [
        (
            "tests/adapters.py",
            "x = [sum(values[i : i + width]) / width for i in range(len(values) - width + 1)]",
            "averages.py, line 8",
        ),
        ("tests/test_totals.py", "# as in statistics_mistakes", "statistics_mistakes stays"),
        ("tests/rubric.toml", '# "statistics_variants"', "statistics_variants stays"),
        ("README.md", "See docs/answers.md.", "docs stays behind"),
        ("README.md", "As in `secret.py`.", "secret.py stays behind"),
        (
            "tests/conftest.py",
            "def count(text):\n    counts = {}\n    for word in text.lower().split():\n"
            "        counts[word] = counts.get(word, 0) + 1\n    return counts",
            "statistics_variants.py",
        ),
    ],
    ids=["solution", "module", "rubric", "document", "file", "variant"],
)
def test_a_planted_leak_is_found(author: Path, file: str, planted: str, origin: str) -> None:
    """Whatever it is, and wherever."""
    (author / "docs").mkdir()
    (author / "statistics_basics" / "secret.py").write_text("", encoding="utf-8")
    assignment = load_assignment(author)
    made = build(assignment)
    assert leaks(assignment, made) == []
    made.files[file] += f"\n{planted}\n".encode()
    found = leaks(assignment, made)
    assert {leak.file for leak in found} == {file}
    assert any(origin in leak.origin for leak in found), found


def test_what_the_author_marks_comes_with_its_body(author: Path) -> None:
    """And is no leak."""
    path = author / "statistics_basics/counting.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("dict[str, int]:", "dict[str, int]:  # keep"), encoding="utf-8")
    assignment = load_assignment(author)
    made = build(assignment)
    assert (
        b"return dict(Counter(text.lower().split()))\n"
        in made.files["statistics_basics/counting.py"]
    )
    assert leaks(assignment, made) == []


def test_an_unknown_track_is_refused() -> None:
    """As it is in grading."""
    with pytest.raises(UnknownNameError, match="fast"):
        build(load_assignment(TINY), ("fast",))
