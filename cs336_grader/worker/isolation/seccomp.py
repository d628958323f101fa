"""A filter of system calls: what no submission needs and an attack would begin with.

Threads, processes, pipes and sockets between them stay as they are. The filter is a program for the
kernel's small machine (see seccomp(2)) that looks at the number and the arguments of each call.
"""

import ctypes
import errno
import struct

from .syscalls import PR_SET_SECCOMP, prctl

LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# The second set of numbers on x86-64.
X32 = 0x40000000

# Each with its number on x86-64 and on 64-bit ARM; None where there is no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
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
# They act on a path without opening it: Landlock has no say in them. Programs that copy files make
# these calls as a courtesy: they are told that it was done.
IGNORED: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "removexattrat": (466, 466),
}
SOCKET, CLONE, CLONE3, IOCTL, PRLIMIT = (41, 198), (56, 220), (435, 435), (16, 29), (302, 261)
# mount, cgroup, host name, messages, user, processes, network
NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x60000000
AF_UNIX = 1
# They type into the terminal that the grader was started from.
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

Instruction = tuple[int, int, int, int]


def program(machine: str, *, keep_attributes: bool = False) -> list[Instruction]:
    """The filter for a kind of processor.

    Args:
        machine: the kind.
        keep_attributes: whether files keep their mode, owner, times and attributes.

    Raises:
        OSError: its numbers are not known.
    """
    if machine not in AUDIT_ARCHITECTURE:
        raise OSError(f"the numbers of system calls are not known on {machine}")
    column = ("x86_64", "aarch64").index(machine)
    refuse = (RETURN, 0, 0, ERRNO | errno.EPERM)
    steps: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, AUDIT_ARCHITECTURE[machine]),
        refuse,
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        steps += [(IF_AT_LEAST, 0, 1, X32), refuse]
    for numbers in REFUSED.values():
        if (number := numbers[column]) is not None:
            steps += [(IF_EQUAL, 0, 1, number), refuse]
    for numbers in IGNORED.values() if keep_attributes else ():
        if (number := numbers[column]) is not None:
            steps += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO)]
    # glibc falls back to clone, whose flags can be looked at.
    steps += [(IF_EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    steps += on(CLONE[column], 0, [(IF_ANY_BIT, 0, 1, NEW_NAMESPACES), refuse])
    other_family = (RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT)
    steps += on(SOCKET[column], 0, [(IF_EQUAL, 1, 0, AF_UNIX), other_family])
    commands = [(IF_EQUAL, 0, 1, TIOCSTI), refuse, (IF_EQUAL, 0, 1, TIOCLINUX), refuse]
    steps += on(IOCTL[column], 1, commands)
    # Limits of this process are its own affair; 0 is how the C library names it.
    steps += on(PRLIMIT[column], 0, [(IF_EQUAL, 1, 0, 0), refuse])
    return [*steps, (RETURN, 0, 0, ALLOW)]


def on(number: int, argument: int, steps: list[Instruction]) -> list[Instruction]:
    """Steps for one call, with the lower half of an argument loaded; allowed if none refuses."""
    load = (LOAD, 0, 0, ARGUMENTS + 8 * argument)
    return [
        (IF_EQUAL, 0, len(steps) + 2, number),
        load,
        *steps,
        (RETURN, 0, 0, ALLOW),
    ]


def install(steps: list[Instruction]) -> None:
    """Filter this process's calls and those of all that descend from it.

    No new privileges must have been set.

    Args:
        steps: the filter.

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
