"""The parts of isolation that can be looked at without closing anything."""

import errno
from pathlib import Path

import pytest

from cs336_grader.records import Barrier, Isolation, Measurement
from cs336_grader.reports import measurement
from cs336_grader.running.measuring import Measured
from cs336_grader.worker.isolation import landlock, seccomp
from cs336_grader.worker.isolation.door import CLOSES, NAMESPACES
from cs336_grader.worker.isolation.view import View

CLONE_THREAD_FLAGS, CLONE_NEWUSER = 0x3D0F00, 0x10000000
NUMBERS = {
    "x86_64": {"read": 0, "ptrace": 101, "socket": 41, "clone": 56, "clone3": 435, "ioctl": 16},
    "aarch64": {"read": 63, "ptrace": 117, "socket": 198, "clone": 220, "clone3": 435, "ioctl": 29},
}
# A call, its first two arguments, and what is to come of it: nothing, or an error.
CALLS = [
    ("read", (0, 0), None),
    ("ptrace", (0, 0), errno.EPERM),
    ("socket", (1, 1), None),
    ("socket", (2, 1), errno.EAFNOSUPPORT),
    ("socket", (16, 3), errno.EAFNOSUPPORT),
    ("clone", (CLONE_THREAD_FLAGS, 0), None),
    ("clone", (CLONE_NEWUSER | 17, 0), errno.EPERM),
    ("clone3", (0, 0), errno.ENOSYS),
    ("ioctl", (0, 0x5413), None),
    ("ioctl", (0, 0x5412), errno.EPERM),
    ("ioctl", (0, 0x1_0000_5412), errno.EPERM),
]


def run(machine: str, data: dict[int, int]) -> int | None:
    """The error that the filter answers with, as the kernel's machine would find it."""
    steps, accumulator, at = seccomp.program(machine), 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == seccomp.LOAD:
            accumulator = data[value]
        elif code == seccomp.RETURN:
            return None if value == seccomp.ALLOW else value & 0xFFFF
        else:
            holds = {
                seccomp.IF_EQUAL: accumulator == value,
                seccomp.IF_AT_LEAST: accumulator >= value,
                seccomp.IF_ANY_BIT: bool(accumulator & value),
            }[code]
            at += if_true if holds else if_false


def called(machine: str, number: int, arguments: tuple[int, int]) -> dict[int, int]:
    """What the filter sees of a call."""
    low = {seccomp.ARGUMENTS + 8 * i: value & 0xFFFFFFFF for i, value in enumerate(arguments)}
    return {
        seccomp.NUMBER: number,
        seccomp.ARCHITECTURE: seccomp.AUDIT_ARCHITECTURE[machine],
        **low,
    }


@pytest.mark.parametrize("machine", NUMBERS)
@pytest.mark.parametrize(("name", "arguments", "error"), CALLS)
def test_the_filter_refuses_what_it_should(
    machine: str, name: str, arguments: tuple[int, int], error: int | None
) -> None:
    """On both kinds of processor, by number and by arguments."""
    assert run(machine, called(machine, NUMBERS[machine][name], arguments)) == error


def test_the_filter_knows_one_set_of_numbers() -> None:
    """Another set would let every call through under another number."""
    data = called("x86_64", 0, (0, 0))
    assert run("x86_64", {**data, seccomp.ARCHITECTURE: 0x40000003}) == errno.EPERM
    assert run("x86_64", {**data, seccomp.NUMBER: seccomp.X32 | 101}) == errno.EPERM
    with pytest.raises(OSError, match="not known on riscv64"):
        seccomp.program("riscv64")


def measured(open_ways: dict[str, list[str]], missing: dict[str, str]) -> Measured:
    """What a worker found, where only some ways were open and some layers missing."""
    resources = ("file system", "network", "processes", "signals", "memory")
    return Measured(
        {resource: open_ways.get(resource, []) for resource in resources},
        {**dict.fromkeys(CLOSES, ""), **missing},
    )


def test_the_level_is_what_was_measured() -> None:
    """Not what was applied: a layer in force closes nothing by being there."""
    assert measured({}, {}).isolation().level == "strict"
    assert measured({"signals": ["x"]}, {}).isolation().level == "strict"
    assert measured({"network": ["TCP connects"]}, {}).isolation().level == "partial"
    everything = {r: ["x"] for r in ("file system", "network", "processes", "signals", "memory")}
    assert measured(everything, {}).isolation().level == "none"
    assert Measured({}, dict.fromkeys(CLOSES, "")).isolation().level == "none"


def test_strict_says_what_is_open_and_what_would_help() -> None:
    """In one sentence each."""
    assert measured({"memory": ["x"]}, {}).not_strict() == ""
    found = measured({"network": ["TCP connects"]}, {NAMESPACES: "refused"})
    assert "network: TCP connects; missing: namespaces (refused)" in found.not_strict()
    assert "This would help: " in found.not_strict()


def test_the_doctor_shows_what_is_closed_and_by_what() -> None:
    """Two tables, a verdict and a line that helps."""
    barriers = (
        Barrier("file system", closed=True, by="Landlock"),
        Barrier("network", closed=False, by="TCP connects"),
    )
    found = Measurement(
        Isolation("partial", barriers), {"Landlock": "", "namespaces": "refused"}, "sudo help"
    )
    assert measurement.render(found) == "\n".join(
        [
            "resource     state   by",
            "file system  closed  Landlock",
            "network      open    TCP connects",
            "",
            "layer       state",
            "Landlock    in force",
            "namespaces  refused",
            "",
            "Isolation is partial here: --isolation strict refuses to grade.",
            "This would close more: sudo help",
        ]
    )


def test_trees_leave_out_what_is_hidden(tmp_path: Path) -> None:
    """Rules know no exceptions: what lies beside the hidden folder is allowed one by one."""
    for name in ("hidden", "shown/inner", "other"):
        (tmp_path / name).mkdir(parents=True)
    found = list(landlock.without(str(tmp_path), [str(tmp_path / "hidden")]))
    assert found == [str(tmp_path / "other"), str(tmp_path / "shown")]
    assert list(landlock.without(str(tmp_path / "shown"), [str(tmp_path / "hidden")])) == [
        str(tmp_path / "shown")
    ]


def test_a_view_holds_no_assignment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that Python finds modules in is shown only if packages are installed there."""
    for folder in ("assignment/tests", "env/site-packages/basics", "staged"):
        (tmp_path / folder).mkdir(parents=True)
    packages = str(tmp_path / "env" / "site-packages")
    monkeypatch.setattr("sys.path", [str(tmp_path / "assignment"), packages])
    view = View(str(tmp_path / "staged"), str(tmp_path / "scratch"), ("basics",), 1, 1)
    assert packages in view.trees()
    assert str(tmp_path / "staged") in view.trees()
    assert str(tmp_path / "assignment") not in view.trees()
    assert view.masked() == [str(Path(packages, "basics"))]
