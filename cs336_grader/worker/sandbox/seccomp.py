"""Filters of system calls for workers and for the judge.

Threads, processes, pipes and sockets between them stay allowed. A filter is a BPF program (see
seccomp(2)) that reads the number and the arguments of each call.
"""

import ctypes
import errno
import struct
from collections.abc import Iterable, Mapping

from .syscalls import PR_SET_SECCOMP, prctl

LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# The second set of numbers on x86-64.
X32 = 0x40000000

Instruction = tuple[int, int, int, int]
# Of a call on x86-64 and on 64-bit ARM; None where there is no such call.
Numbers = tuple[int | None, int | None]

REFUSED: dict[str, Numbers] = {
    # into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # what is shared by name with processes outside
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # out of namespaces, and into new ones
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # large pieces of the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    "ustat": (136, None),
}
# They change files that were not opened for writing: Landlock allows it. Programs that copy files
# make these calls too: they do nothing and report success.
IGNORED: dict[str, Numbers] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}
# Calls that the judge does not need.
REFUSED_TO_JUDGE: dict[str, Numbers] = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
}
# The first argument is the process or thread to schedule; 0 is the caller.
SCHEDULING: dict[str, Numbers] = {
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}
SETPRIORITY, IOPRIO_SET, PRLIMIT = (141, 140), (251, 30), (302, 261)
SOCKET, SOCKETPAIR, CLONE, CLONE3, IOCTL = (41, 198), (53, 199), (56, 220), (435, 435), (16, 29)
# mount, cgroup, host name, messages, user, processes, network
NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x60000000
AF_UNIX, PRIO_PROCESS, IOPRIO_WHO_PROCESS = 1, 0, 1
# The bit that datagrams alone have of the kinds of sockets; these can be sent to any address.
DATAGRAM = 2
# They type into the terminal that the grader was started from.
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

REFUSE: Instruction = (RETURN, 0, 0, ERRNO | errno.EPERM)


def for_workers(machine: str, *, keep_attributes: bool = False) -> list[Instruction]:
    """Return the filter of workers.

    Args:
        machine: the kind of processor.
        keep_attributes: True if mode, owner, times and attributes of files must not change.

    Raises:
        OSError: the numbers of its system calls are not known.
    """
    new_limits = [*only(2, 0), *only(2, 0, upper=True)]
    looked_into: list[tuple[Numbers, list[Instruction]]] = [
        (SOCKET, only(0, AF_UNIX, otherwise=errno.EAFNOSUPPORT)),
        *((numbers, only(0, 0)) for numbers in SCHEDULING.values()),
        (SETPRIORITY, [*only(0, PRIO_PROCESS), *only(1, 0)]),
        (IOPRIO_SET, [*only(0, IOPRIO_WHO_PROCESS), *only(1, 0)]),
        # A process may read the limits of another, and set none.
        (PRLIMIT, [argument(0), (IF_EQUAL, len(new_limits), 0, 0), *new_limits]),
    ]
    return program(machine, REFUSED, IGNORED if keep_attributes else {}, looked_into)


def for_judge(machine: str) -> list[Instruction]:
    """Return the filter of the judge on a kind of processor.

    Raises:
        OSError: the numbers of its system calls are not known.
    """
    pairs = [argument(1), (IF_ANY_BIT, 0, 1, DATAGRAM), REFUSE]
    return program(machine, REFUSED | REFUSED_TO_JUDGE, IGNORED, [(SOCKETPAIR, pairs)])


def program(
    machine: str,
    refused: Mapping[str, Numbers],
    ignored: Mapping[str, Numbers],
    looked_into: Iterable[tuple[Numbers, list[Instruction]]],
) -> list[Instruction]:
    """Return a filter.

    Args:
        machine: the kind of processor.
        refused: calls that fail.
        ignored: calls that do nothing and report success.
        looked_into: calls, each with steps that check its arguments.

    Raises:
        OSError: the numbers of its system calls are not known.
    """
    if machine not in AUDIT_ARCHITECTURE:
        raise OSError(f"the numbers of system calls are not known on {machine}")
    column = ("x86_64", "aarch64").index(machine)
    steps: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, AUDIT_ARCHITECTURE[machine]),
        REFUSE,
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        steps += [(IF_AT_LEAST, 0, 1, X32), REFUSE]
    for calls, answer in ((refused, REFUSE), (ignored, (RETURN, 0, 0, ERRNO))):
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                steps += [(IF_EQUAL, 0, 1, number), answer]
    # glibc falls back to clone, whose flags can be looked at.
    steps += [(IF_EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    flags = [argument(0), (IF_ANY_BIT, 0, 1, NEW_NAMESPACES), REFUSE]
    commands = [argument(1), (IF_EQUAL, 0, 1, TIOCSTI), REFUSE, (IF_EQUAL, 0, 1, TIOCLINUX), REFUSE]
    for numbers, look in ((CLONE, flags), (IOCTL, commands), *looked_into):
        if (number := numbers[column]) is not None:
            steps += [(IF_EQUAL, 0, len(look) + 1, number), *look, (RETURN, 0, 0, ALLOW)]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def argument(position: int, *, upper: bool = False) -> Instruction:
    """Return the step that loads the lower or upper half of an argument."""
    return (LOAD, 0, 0, ARGUMENTS + 8 * position + 4 * upper)


def only(
    position: int, value: int, *, otherwise: int = errno.EPERM, upper: bool = False
) -> list[Instruction]:
    """Return steps that refuse a call unless its argument has this value."""
    answer: Instruction = (RETURN, 0, 0, ERRNO | otherwise)
    return [argument(position, upper=upper), (IF_EQUAL, 1, 0, value), answer]


def install(steps: list[Instruction]) -> None:
    """Filter the calls of this process and its descendants, after `no_new_privileges`.

    Raises:
        OSError: the system refuses.
    """
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    filter_mode = 2
    described = Program(len(steps), ctypes.addressof(held))
    prctl(PR_SET_SECCOMP, filter_mode, ctypes.addressof(described))
