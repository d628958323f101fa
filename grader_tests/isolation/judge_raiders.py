"""Attacks on the judge: what reads, writes, enters or reschedules another process.

Each is an adapter of the submission that `raiders` begins, and is refused in the same way.
"""

import contextlib
import ctypes
import os
import struct

from . import raiders
from .raiders import Target, against

# With those that were there before.
ATTACKS = raiders.ATTACKS


@against("judge")
def read_the_judge(target: Target) -> str:
    """Reads the judge's memory, environment, files and mappings."""
    judge, libc = target["judge"], ctypes.CDLL(None, use_errno=True)
    for name in ("mem", "environ", "maps", "smaps", "auxv", "io", "pagemap", "stack", "syscall"):
        with contextlib.suppress(OSError):
            descriptor = os.open(f"/proc/{judge}/{name}", os.O_RDONLY)
            # Some are opened by everybody, and read by few.
            if name == "mem" or os.read(descriptor, 1):
                return name
    for name in ("fd/0", "fd/1", "fd/2", "cwd", "root", "exe", "ns/user"):
        with contextlib.suppress(OSError):
            return str(os.readlink(f"/proc/{judge}/{name}"))
    local, remote, one = (ctypes.c_size_t * 2)(), (ctypes.c_size_t * 2)(1, 1), ctypes.c_ulong(1)
    for copy in (libc.process_vm_readv, libc.process_vm_writev):
        copy(judge, ctypes.byref(local), one, ctypes.byref(remote), one, ctypes.c_ulong(0))
        efault = 14
        if ctypes.get_errno() == efault:
            return "its memory"
    raise OSError("no way")


@against("judge")
def write_to_the_judge(target: Target) -> str:
    """Writes to all that the judge has in ``/proc``: its memory, its place in a queue."""
    names = ("mem", "oom_score_adj", "oom_adj", "autogroup", "timerslack_ns", "coredump_filter")
    for name in (*names, "clear_refs", "sched", "comm", "loginuid", "make-it-fail", "attr/current"):
        with contextlib.suppress(OSError):
            descriptor = os.open(f"/proc/{target['judge']}/{name}", os.O_WRONLY)
            # Some are opened by everybody, and written to by few.
            if name == "mem" or os.write(descriptor, b"10"):
                return name
    raise OSError("no way")


# Numbers of calls on x86-64 and on 64-bit ARM.
REACHING = {
    "ptrace": (101, 117),
    "kcmp": (312, 272),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "get_robust_list": (274, 100),
    "setpgid": (109, 154),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
}


def call(name: str, *arguments: object) -> bool:
    """Return True if a system call succeeds."""
    column = ("x86_64", "aarch64").index(os.uname().machine)
    return int(ctypes.CDLL(None).syscall(REACHING[name][column], *arguments)) >= 0


@against("judge")
def reach_into_the_judge(target: Target) -> str:
    """Attaches to the judge, borrows its files, compares, moves, counts and drops its memory."""
    judge, buffer = target["judge"], ctypes.create_string_buffer(b"\0" * 256, 256)
    ctypes.memmove(buffer, struct.pack("QQ", 4096, 4096), 16)
    pidfd = os.pidfd_open(judge)
    one, seize, sched_core, share_from = ctypes.c_ulong(1), 0x4206, 62, 3
    performance = ctypes.create_string_buffer(struct.pack("II", 1, 112), 112)
    got = [
        name
        for name, arguments in {
            "ptrace": (seize, judge, None, None),
            "pidfd_getfd": (pidfd, 0, 0),
            "kcmp": (os.getpid(), judge, 0, 0, 0),
            "process_madvise": (pidfd, buffer, one, 20, 0),
            "process_mrelease": (pidfd, 0),
            "perf_event_open": (performance, judge, -1, -1, 0),
            "migrate_pages": (judge, one, buffer, buffer),
            "move_pages": (judge, one, buffer, buffer, buffer, 2),
            "get_robust_list": (judge, buffer, buffer),
            "setpgid": (judge, 0),
            "prctl": (sched_core, share_from, judge, 0, 0),
        }.items()
        if call(name, *arguments)
    ]
    if not got:
        raise OSError("no way")
    return str(got)


@against("judge")
def reschedule_the_judge(target: Target) -> str:
    """Has the judge, each of its threads, or all processes of its user, run last and on one CPU."""
    judge, got = target["judge"], []
    everything = ctypes.create_string_buffer(b"\xff" * 128, 128)
    batch, process, user, idle_io, most_idle = 3, 0, 2, 3 << 13, 19
    attributes = ctypes.create_string_buffer(struct.pack("IIQiI", 48, batch, 0, 0, 0), 48)
    parameter = ctypes.create_string_buffer(4)
    for number in (judge, *map(int, os.listdir(f"/proc/{judge}/task"))):
        got += [
            name
            for name, arguments in {
                "sched_setaffinity": (number, 128, everything),
                "sched_setscheduler": (number, batch, parameter),
                "sched_setparam": (number, parameter),
                "sched_setattr": (number, attributes, 0),
                "setpriority": (process, number, most_idle),
                "ioprio_set": (1, number, idle_io),
                "prlimit64": (number, 0, struct.pack("QQ", 10**6, 10**6), None),
            }.items()
            if call(name, *arguments)
        ]
    for which in (1, user):
        for who in (0, os.getuid() if which == user else os.getpgid(judge)):
            got += ["setpriority"] * call("setpriority", which, who, most_idle)
            got += ["ioprio_set"] * call("ioprio_set", which + 1, who, idle_io)
    if not got:
        raise OSError("no way")
    return str(got)
