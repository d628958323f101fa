"""Attacks on the processes that a run is made of: their memory, their files, when they run."""

from .attack import Attack

# All that belongs to the grader, but for the process of the import, which is the attack's own. The
# first of the ids is of who looks on, and has children that are open to everybody.
OTHERS = """
import ctypes, resource, signal

libc = ctypes.CDLL(None)
SIGN = "canary-of-the-judge-0123456789abcdef"

def others():
    known = set(PIDS)
    for _ in range(4):
        for pid in known - {PIDS[0]}:
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    children = open(f"/proc/{pid}/task/{task}/children").read()
                    known.update(map(int, children.split()))
            except OSError:
                pass
    return sorted(known - {os.getpid(), os.getppid()})

def tell(succeeded):
    if succeeded:
        raise RuntimeError(f"{SIGN} {succeeded}")
    return [0.0]

"""
ATTACKS = {
    "it opens the memory, the environment and the files of all processes of the grader": Attack(
        OTHERS
        + """
def attack(values):
    opened = []
    for pid in others():
        for name, flags in (("mem", os.O_RDONLY), ("mem", os.O_RDWR), ("environ", os.O_RDONLY)):
            try:
                opened.append((name, os.open(f"/proc/{pid}/{name}", flags)))
            except OSError:
                pass
        for number in range(16):
            try:
                opened.append(os.readlink(f"/proc/{pid}/fd/{number}"))
            except OSError:
                pass
    return tell(opened)
"""
    ),
    "it has all processes of the grader run last, on one processor, and end first": Attack(
        OTHERS
        + """
def attack(values):
    done = []
    for pid in others():
        for change in (
            lambda: os.sched_setaffinity(pid, {0}),
            lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
            lambda: os.sched_setparam(pid, os.sched_param(0)),
            lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
            lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)),
            lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"),
            lambda: open(f"/proc/{pid}/autogroup", "w").write("19"),
        ):
            try:
                change()
                done.append(pid)
            except (OSError, ValueError):
                pass
        ioprio_set = {"x86_64": 251, "aarch64": 30}[os.uname().machine]
        done += [pid] * (libc.syscall(ioprio_set, 1, pid, 3 << 13) == 0)
    for which in (os.PRIO_PGRP, os.PRIO_USER):
        try:
            os.setpriority(which, 0, 19)
            done.append(which)
        except OSError:
            pass
    return tell(done)
"""
    ),
    "it traces, borrows from, compares, counts and moves all processes of the grader": Attack(
        OTHERS
        + """
NUMBERS = {
    "x86_64": {"getfd": 438, "kcmp": 312, "advise": 440, "count": 298, "away": 256, "move": 279},
    "aarch64": {"getfd": 438, "kcmp": 272, "advise": 440, "count": 241, "away": 238, "move": 239},
}[os.uname().machine]

def attack(values):
    buffer, one = ctypes.create_string_buffer(128), ctypes.c_ulong(1)
    buffer[:8] = bytes([1, 0, 0, 0, 112, 0, 0, 0])
    done = []
    for pid in others():
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        calls = [
            (NUMBERS["getfd"], handle, 0, 0),
            (NUMBERS["kcmp"], os.getpid(), pid, 0, 0, 0),
            (NUMBERS["advise"], handle, buffer, one, 20, 0),
            (NUMBERS["count"], buffer, pid, -1, -1, 0),
            (NUMBERS["away"], pid, one, buffer, buffer),
            (NUMBERS["move"], pid, one, buffer, buffer, buffer, 2),
        ]
        done += [call[0] for call in calls if libc.syscall(*call) >= 0]
        done += ["traced"] * (libc.ptrace(0x4206, pid, None, None) == 0)
        try:
            os.setpgid(pid, 0)
            done.append("grouped")
        except OSError:
            pass
    return tell(done)
"""
    ),
    "it ends its own group, which it was born into": Attack(
        OTHERS
        + """
def attack(values):
    os.killpg(0, signal.SIGKILL)
    return [0.0]
"""
    ),
}
