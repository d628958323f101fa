"""The parts of the suite that every check relies on: comparing, keeping values, watching memory."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cs336_checks.comparison import CheckFailedError, Comparison, assert_refuses, size
from cs336_checks.differences import Tolerance, difference
from cs336_checks.memory import MEBIBYTE, Memory
from cs336_checks.snapshots import Snapshot, SnapshotFolder


def test_another_shape_of_the_same_numbers_is_saved_anew(tmp_path: Path) -> None:
    """A snapshot is kept as it is only if nothing of it changed."""
    folder = SnapshotFolder(tmp_path, recording=True)
    folder.save("check", {"output": np.arange(6).reshape(2, 3)})
    folder.save("check", {"output": np.arange(6).reshape(2, 3)})
    assert folder.written == ["check"]
    folder.save("check", {"output": np.arange(6).reshape(3, 2)})
    saved = folder.load("check", "output")
    assert saved is not None
    assert saved.shape == (3, 2)


def test_a_name_is_compared_once(tmp_path: Path) -> None:
    """Two values of one name in one check would be one saved value."""
    snapshot = Snapshot("check", "", SnapshotFolder(tmp_path, recording=True))
    snapshot.assert_match([1])
    with pytest.raises(ValueError, match="check compares 'output' twice"):
        snapshot.assert_match([1])


def test_the_largest_error_is_told_with_what_is_allowed_in_its_place() -> None:
    """What is allowed grows with the number expected, so it must be that of the same element."""
    facts = difference(
        torch.tensor([1000.3, 0.15]), torch.tensor([1000.0, 0.0]), Tolerance(1e-4, 2e-4)
    )
    assert facts is not None
    assert "largest error 0.3 where 0.2 is allowed" in facts


@pytest.mark.parametrize(
    ("actual", "facts"),
    [
        (3.5, "The number is off by 0.5, where 0.0003 is allowed."),
        (np.nan, "The number is NaN."),
        (np.inf, "The number is infinite."),
    ],
)
def test_one_number_has_no_places(actual: float, facts: str) -> None:
    """Nothing is told of shares, of a mean, or of where it is."""
    tolerance = Tolerance(0.0, 1e-4)
    assert difference(torch.tensor(actual), torch.tensor(3.0), tolerance) == facts
    assert difference(torch.tensor([actual]), torch.tensor([3.0]), tolerance) == facts


def test_one_number_is_shown_beside_the_right_one_where_that_may_be_seen() -> None:
    """A student who checks at seed 0 sees both."""
    facts = difference(torch.tensor(3.5), torch.tensor(3.0), Tolerance(1e-4, 0.0), reveal=True)
    assert facts is not None
    assert facts.endswith("\n  yours 3.5, expected 3")


@pytest.mark.parametrize(
    ("actual", "expected", "distance"),
    [
        (torch.tensor([1.0, 2.0]), (torch.tensor([1.0, 2.25]),), 2.5),
        (torch.tensor([1.0, 2.0]), (torch.tensor([9.0, 9.0]), torch.tensor([1.0, 2.0])), 0.0),
        (torch.tensor([1.0]), (torch.tensor([[1.0]]),), np.inf),
        (torch.tensor([np.nan]), (torch.tensor([1.0]),), np.inf),
        (torch.tensor([1.0]), (torch.tensor([np.inf]),), np.inf),
        ([1, 2], ([1, 3],), np.inf),
        ([1, 2], ([1, 2],), 0.0),
        (torch.zeros(0), (torch.zeros(0),), 0.0),
    ],
)
def test_a_distance_counts_in_what_is_allowed(
    actual: object, expected: tuple[object, ...], distance: float
) -> None:
    """The nearest right value counts; where more than numbers is wrong, nothing is near."""
    compared = Comparison("check", "output", actual, expected, Tolerance(0.1, 0.0))
    assert compared.distance() == pytest.approx(distance)


def test_watching_a_process_that_ends_hides_no_exception() -> None:
    """That the process is gone is not what a check is to be told."""

    def fail_while_watching() -> None:
        command = [sys.executable, "-c", "input()"]
        with (
            subprocess.Popen(command, stdin=subprocess.PIPE) as process,
            Memory(process.pid).watch(),
        ):
            process.kill()
            process.wait()
            raise RuntimeError("of the block")

    with pytest.raises(RuntimeError, match="of the block"):
        fail_while_watching()


def test_a_file_that_another_process_lets_go_is_no_growth(tmp_path: Path) -> None:
    """What both have mapped is not the watched one's own once the other has ended."""
    path = tmp_path / "file"
    path.write_bytes(bytes(32 * MEBIBYTE))
    script = (
        "import mmap, sys; file = open(sys.argv[1], 'rb');"
        "data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ);"
        "sum(data[::4096]); print(flush=True); input()"
    )
    command = [sys.executable, "-c", script, str(path)]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe) as watched,
        subprocess.Popen(command, stdin=pipe, stdout=pipe) as other,
    ):
        for process in (watched, other):
            assert process.stdout is not None
            process.stdout.readline()
        with Memory(watched.pid).watch() as growth:
            other.kill()
            other.wait()
        watched.kill()
    assert growth.bytes < MEBIBYTE


@pytest.mark.parametrize("expected", [torch.zeros(2), [0, 0], torch.zeros(1).expand(2**24 + 1)])
def test_what_is_far_too_large_is_not_looked_at_closely(expected: object) -> None:
    """Comparing, drawing and explaining would take gigabytes in the process that judges."""
    actual = torch.zeros(1).expand(2**24 + 1)
    comparison = Comparison("check", "output", actual, (expected,), Tolerance(0.0, 0.0))
    assert comparison.is_oversized()
    facts = comparison.facts(reveal=False)
    assert facts is not None
    assert "far too many" in facts


@pytest.mark.parametrize(
    "actual",
    [
        list(range(20_000)),
        [list(range(5_000))] * 4,
        ["text" * 5_000],
        [(b"merge", b"s" * 20_000)],
        torch.zeros(20_000),
    ],
    ids=["long", "nested", "text", "pair", "tensor"],
)
def test_a_list_that_is_far_too_long_is_not_looked_at(actual: object) -> None:
    """To find likenesses in it would take the process that judges minutes."""
    short = Comparison("check", "output", actual, ([1, 2, 3],), Tolerance(0.0, 0.0))
    facts = short.facts(reveal=False)
    assert facts in (
        "More than 10,000 items and characters are far too many; none was compared.",
        "3 items are expected; yours has 20,000. None was compared.",
    )
    assert short.is_oversized()


@given(st.lists(st.integers() | st.text() | st.tuples(st.binary(), st.binary())))
def test_what_has_the_size_of_what_is_expected_is_compared(value: list[object]) -> None:
    """However large that is."""
    large = [value] * 200
    comparison = Comparison("check", "output", large, (large,), Tolerance(0.0, 0.0))
    assert not comparison.is_oversized()


@given(st.recursive(st.integers() | st.binary(), st.lists), st.integers(0, 20))
def test_counting_may_end_early(value: object, most: int) -> None:
    """It tells as well then whether there is more."""
    assert (size(value, most) > most) == (size(value) > most)


def root(x: float) -> float:
    """Refuse what has no root."""
    if x < 0:
        raise ValueError("x is negative")
    return math.sqrt(x)


def test_a_refusal_is_an_exception_raised_for_the_value() -> None:
    """A function that takes both values fails."""
    assert_refuses(root, 4.0, -1.0, "A negative number")
    with pytest.raises(CheckFailedError, match="A negative number was accepted"):
        assert_refuses(abs, 4.0, -1.0, "A negative number")


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'einx'"),
        NameError("name 'nope' is not defined"),
        NotImplementedError(),
        AttributeError("'NoneType' object has no attribute 'decode'"),
        TypeError("root() takes 0 positional arguments but 1 was given"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broken_program_refuses_nothing(error: Exception) -> None:
    """What it raises is passed on, also where only the refused value leads to it."""

    def broken(x: float) -> float:
        if x < 0:
            raise error
        return x

    with pytest.raises(type(error)):
        assert_refuses(broken, 4.0, -1.0, "A negative number")


def test_what_raises_always_refuses_nothing() -> None:
    """The call with the allowed value must work."""
    with pytest.raises(ValueError, match="x is negative"):
        assert_refuses(root, -4.0, -1.0, "A negative number")


PIECES = {0: b"l", 1: b"ow", 2: b"low", 3: b"er", 4: b" "}


@pytest.mark.parametrize(
    ("ids", "reveal", "told"),
    [
        ([2, 3, 4, 0, 1], True, "After 'lower ', yours goes on with 'l', 'ow' where 'low', 'er'"),
        ([2, 3, 4, 0, 1], False, "After 'lower ', yours goes on with 'l', 'ow'."),
        ([0, 1, 3, 4, 2], True, "Yours goes on with 'l', 'ow', 'er' where 'low', 'er', ' ' is"),
        ([2, 3, 4], True, "yours goes on with nothing where 'low', 'er' is expected."),
        ([2, 3, 4, 9], True, "Yours is 9, an id that the given vocabulary lacks."),
    ],
)
def test_token_ids_are_told_in_pieces_of_text(ids: list[int], reveal: bool, told: str) -> None:
    """What stands before the first difference, and what follows it."""
    facts = difference(ids, [2, 3, 4, 2, 3], Tolerance(0, 0), reveal=reveal, meaning=PIECES)
    assert facts is not None
    assert told in facts.partition("\n")[0]


@pytest.mark.parametrize(
    ("actual", "told"),
    [
        ("before and later", "After 'before and ', yours goes on with 'later' where 'after'"),
        ("before", "After 'before', yours goes on with nothing where ' and after' is expected."),
        ("", "Yours goes on with nothing where 'before and after' is expected."),
        (None, "A text is expected; yours is None. Is a return statement missing?"),
    ],
)
def test_a_text_is_shown_where_it_differs(actual: object, told: str) -> None:
    """Beside the right one; the right one passes."""
    snapshot = Snapshot("test_x", "Decodes.", None)
    snapshot.assert_text("before and after", "before and after", "It is another text.")
    with pytest.raises(CheckFailedError) as failed:
        snapshot.assert_text(actual, "before and after", "It is another text.")
    assert failed.value.facts.startswith(f"It is another text. {told}")
