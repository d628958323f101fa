"""Which submissions are nearly the same, in what is the student's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cs336_grader.batch import likeness
from cs336_grader.batch.whole_class import handed_out
from cs336_grader.handout.contents import build
from cs336_grader.records import Staged
from grader_tests.assignments import ASSIGNMENT
from grader_tests.unit.submissions import write

CODE = (
    "def attention(q, k, v):\n    scores = q @ k.T / 8.0\n    return scores.softmax(-1) @ v\n" * 9
)
RENAMED = CODE.replace("scores", "s").replace("q", "queries").replace("8.0", "4.0")
OTHER = (
    "class Model:\n    x: int = 3\n    def run(self):\n        while True:\n            yield 1\n"
)


def tokens(tmp_path: Path, name: str, text: str) -> tuple[str, str]:
    """A submission's name and tokens."""
    root = write(tmp_path / name, {"package/model.py": text, "tests/adapters.py": name * 500})
    staged = Staged(name, "", root, "tests.adapters", (".",), (), frozenset())
    return name, likeness.tokens(staged)


def test_what_is_alike_is_found_whatever_it_is_called(tmp_path: Path) -> None:
    """Names, numbers, comments and layout do not count; what is short has nobody like it."""
    texts = {"a": CODE, "b": f"# mine\n{RENAMED}", "c": OTHER * 20, "d": "x = 1\n", "e": "x = 1\n"}
    found = likeness.groups([tokens(tmp_path, name, text) for name, text in texts.items()])
    assert [(group.names, group.share) for group in found] == [(("a", "b"), 1.0)]


def test_a_large_submission_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold megabytes of modules, and reading their tokens takes a second each."""
    root = write(tmp_path, {f"package/module{n}.py": CODE for n in range(9)})
    read: list[bytes] = []
    lines = likeness.lines

    def noted(source: bytes) -> Iterator[str]:
        read.append(source)
        return lines(source)

    monkeypatch.setattr(likeness, "lines", noted)
    monkeypatch.setattr(likeness, "MAX_READ", 5)
    staged = Staged("large", "", root, "tests.adapters", (".",), (), frozenset())
    assert len(likeness.tokens(staged)) == 5
    assert len(read) == 1


def test_what_was_handed_out_does_not_count(tmp_path: Path) -> None:
    """Stubs and tests are the same for all, and a small part may be; a copy is reported."""
    given = build(ASSIGNMENT).files
    package = {name: text for name, text in given.items() if name.endswith(".py")}
    assert "tests/conftest.py" in package
    model = package["cs336_basics/model.py"]
    linear = model.replace(b"raise NotImplementedError", b"return x @ self.weight.T #", 1)
    assert linear != model
    entire = "\n\n".join(
        f"def part{n}(x, y):\n    return {'x * ' * n}y + {n}" for n in range(1, 30)
    )
    written = {
        **{name: {} for name in ("untouched", "none")},
        **{name: {"cs336_basics/model.py": linear} for name in ("first", "second")},
        **{name: {"cs336_basics/own.py": entire.encode()} for name in ("original", "copy")},
        "other": {"cs336_basics/own.py": OTHER.encode() * 20},
    }
    found = []
    for name, own in written.items():
        root = write(tmp_path / name, {**package, **own})
        found.append(
            (name, likeness.tokens(Staged(name, "", root, "tests.adapters", (), (), frozenset())))
        )
    assert len(likeness.groups(found)[0].names) > 2
    alike = likeness.groups(found, handed_out(ASSIGNMENT))
    assert [group.names for group in alike] == [("original", "copy")]
    assert likeness.without(found[0][1], handed_out(ASSIGNMENT)) == ""


@pytest.mark.parametrize("track", ASSIGNMENT.rubric.tracks)
def test_what_was_handed_out_for_one_track_does_not_count(tmp_path: Path, track: str) -> None:
    """A repository that was made for a track has statements that the other ones lack."""
    files = build(ASSIGNMENT, (track,)).files
    root = write(tmp_path, {name: text for name, text in files.items() if name.endswith(".py")})
    staged = Staged("untouched", "", root, "tests.adapters", (), (), frozenset())
    assert likeness.without(likeness.tokens(staged), handed_out(ASSIGNMENT)) == ""


def test_what_was_handed_out_takes_no_room_from_what_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit holds for what is left."""
    monkeypatch.setattr(likeness, "MAX_TOKENS", 300)
    given = "given" * 100
    texts = [(name, f"{given}\n{name * 400}") for name in ("a", "b", "a")]
    (group,) = likeness.groups(texts, {given})
    assert group.names == ("a", "a")


def test_no_code_is_too_strange_to_be_compared(tmp_path: Path) -> None:
    """What cannot be read is taken as far as it can."""
    assert tokens(tmp_path, "a", "def f(:\n  'open\n")[1]
    write(tmp_path / "b" / "package", {"model.py": b"\xff\xfe\x00"})
    assert likeness.groups([]) == []
