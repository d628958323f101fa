"""The parts of isolation that can be looked at without closing anything."""

import errno
from pathlib import Path

import pytest

from cs336_grader.records import Barrier, Isolation, Measurement
from cs336_grader.reports import measurement
from cs336_grader.running.confinement import Confinement
from cs336_grader.running.measuring import RESOURCES, Measured
from cs336_grader.worker.sandbox import landlock, seccomp
from cs336_grader.worker.sandbox.layers import CLOSES, NAMESPACES
from cs336_grader.worker.sandbox.root_filesystem import RootFilesystem

CONFINED = Confinement({"Landlock": ""}, [])
CLONE_THREAD_FLAGS, CLONE_NEWUSER = 0x3D0F00, 0x10000000
NUMBERS = {
    "read": (0, 63),
    "ptrace": (101, 117),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "execve": (59, 221),
    "sched_setaffinity": (203, 122),
    "sched_getaffinity": (204, 123),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "prlimit": (302, 261),
    "fchmod": (91, 52),
}
MACHINES = ("x86_64", "aarch64")
# A call, its first arguments, and what is to come of it: nothing, or an error.
CALLS: list[tuple[str, tuple[int, ...], int | None]] = [
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
    ("execve", (1, 1), None),
    ("sched_setaffinity", (0, 8), None),
    ("sched_setaffinity", (77, 8), errno.EPERM),
    ("sched_getaffinity", (77, 8), None),
    ("setpriority", (0, 0), None),
    ("setpriority", (0, 77), errno.EPERM),
    ("setpriority", (1, 0), errno.EPERM),
    ("setpriority", (2, 0), errno.EPERM),
    ("ioprio_set", (1, 0), None),
    ("ioprio_set", (1, 77), errno.EPERM),
    ("ioprio_set", (3, 0), errno.EPERM),
    ("prlimit", (0, 7, 0x7000, 0), None),
    ("prlimit", (77, 7, 0, 0x7000), None),
    ("prlimit", (77, 7, 0x7000, 0), errno.EPERM),
    ("prlimit", (77, 7, 0x1_0000_0000, 0), errno.EPERM),
    ("fchmod", (3, 0), None),
]
CALLS_OF_JUDGE: list[tuple[str, tuple[int, ...], int | None]] = [
    ("read", (0, 0), None),
    ("ptrace", (0, 0), errno.EPERM),
    ("execve", (1, 1), errno.EPERM),
    ("socket", (1, 1), errno.EPERM),
    ("socketpair", (1, 1 | 0o2000000), None),
    ("socketpair", (1, 2), errno.EPERM),
    ("socketpair", (1, 3), errno.EPERM),
    ("socketpair", (1, 5), None),
    ("sched_setaffinity", (77, 8), None),
    ("clone", (CLONE_THREAD_FLAGS, 0), None),
    # Nothing is done, and nothing is said.
    ("fchmod", (3, 0), 0),
]


def run(steps: list[seccomp.Instruction], data: dict[int, int]) -> int | None:
    """The error that a filter answers with, as the kernel's machine would find it."""
    accumulator, at = 0, 0
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


def called(machine: str, number: int, arguments: tuple[int, ...]) -> dict[int, int]:
    """Return the data of a call that a filter reads."""
    words = {
        seccomp.ARGUMENTS + 8 * i + 4 * upper: value >> 32 * upper & 0xFFFFFFFF
        for i, value in enumerate(arguments)
        for upper in (0, 1)
    }
    return {
        seccomp.NUMBER: number,
        seccomp.ARCHITECTURE: seccomp.AUDIT_ARCHITECTURE[machine],
        **words,
    }


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("of_judge", "name", "arguments", "error"),
    [*((False, *one) for one in CALLS), *((True, *one) for one in CALLS_OF_JUDGE)],
)
def test_a_filter_refuses_what_it_should(
    machine: str, of_judge: bool, name: str, arguments: tuple[int, ...], error: int | None
) -> None:
    """On both kinds of processor, by number and by arguments."""
    steps = (seccomp.for_judge if of_judge else seccomp.for_workers)(machine)
    number = NUMBERS[name][MACHINES.index(machine)]
    assert run(steps, called(machine, number, arguments)) == error


def test_the_filter_knows_one_set_of_numbers() -> None:
    """Another set would let every call through under another number."""
    steps, data = seccomp.for_workers("x86_64"), called("x86_64", 0, (0, 0))
    assert run(steps, {**data, seccomp.ARCHITECTURE: 0x40000003}) == errno.EPERM
    assert run(steps, {**data, seccomp.NUMBER: seccomp.X32 | 101}) == errno.EPERM
    with pytest.raises(OSError, match="not known on riscv64"):
        seccomp.for_workers("riscv64")


def measured(
    open_ways: dict[str, list[str]], missing: dict[str, str], judge: Confinement = CONFINED
) -> Measured:
    """Return a measurement in which some ways were open and some layers missing."""
    return Measured(
        {resource: open_ways.get(resource, []) for resource in RESOURCES},
        {**dict.fromkeys(CLOSES, ""), **missing},
        judge,
    )


def test_the_level_is_what_was_measured() -> None:
    """Not what was applied: a layer in force closes nothing by being there."""
    assert measured({}, {}).isolation().level == "strict"
    assert measured({"signals": ["x"]}, {}).isolation().level == "strict"
    assert measured({"network": ["TCP connects"]}, {}).isolation().level == "partial"
    assert measured({r: ["x"] for r in RESOURCES}, {}).isolation().level == "none"
    assert Measured({}, dict.fromkeys(CLOSES, ""), CONFINED).isolation().level == "none"


def test_the_judge_is_measured_by_a_worker_and_by_itself() -> None:
    """Strict isolation needs both, and what holds the judge are layers of its own."""
    assert measured({}, {}).barrier("judge") == Barrier("judge", closed=True, by="Landlock")
    reached = measured({"judge": ["its memory can be read"]}, {})
    assert reached.barrier("judge").by == "its memory can be read"
    loose = measured({}, {}, Confinement({"Landlock": "none here"}, ["it can write"]))
    assert loose.barrier("judge").by == "it can write; missing: Landlock (none here)"
    assert {found.isolation().level for found in (reached, loose)} == {"partial"}
    assert loose.layers()["judge: Landlock"] == "none here"


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
    view = RootFilesystem(str(tmp_path / "staged"), str(tmp_path / "scratch"), ("basics",), 1, 1)
    assert packages in view.trees()
    assert str(tmp_path / "staged") in view.trees()
    assert str(tmp_path / "assignment") not in view.trees()
    assert view.masked() == [str(Path(packages, "basics"))]
