"""Attacks on what lies outside, each one adapter of a submission: what it returns is its loot.

An attack that is refused raises an exception or returns None. `target` says what there is to reach.
"""

import contextlib
import ctypes
import os
import signal
import socket
import stat
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Target = Mapping[str, Any]
Attack = Callable[[Target], object]
ATTACKS: dict[str, tuple[str, Attack]] = {}


def text(given: bytes) -> str:
    """A text that was sent as bytes, so that nobody takes it for a path."""
    return given.decode()


def against(resource: str) -> Callable[[Attack], Attack]:
    """Note what an attack is against: one of the report's resources, or "anything"."""

    def noted(attack: Attack) -> Attack:
        ATTACKS[attack.__name__] = (resource, attack)
        return attack

    return noted


@against("file system")
def read_a_file(target: Target) -> str:
    """Reads a file that everybody may read."""
    return Path(text(target["file"])).read_text(encoding="ascii")


@against("file system")
def read_by_another_way(target: Target) -> str:
    """Reads the file through the root of each process that is to be seen."""
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        for way in (f"/proc/{pid}/root{text(target['file'])}", f"/proc/{pid}/cwd/canary"):
            with contextlib.suppress(OSError):
                return Path(way).read_text(encoding="ascii")
    raise OSError("no way")


@against("file system")
def read_through_a_link(target: Target) -> str:
    """Links to the file from its own folder, both ways, and reads that."""
    for link in (os.symlink, os.link):
        with contextlib.suppress(OSError):
            link(text(target["file"]), f"here-{link.__name__}")
            return Path(f"here-{link.__name__}").read_text(encoding="ascii")
    raise OSError("no way")


@against("file system")
def write_a_file(target: Target) -> str:
    """Writes over the file, beside it, and to the folder for temporary files."""
    for path in (text(target["file"]), text(target["file"]) + ".forged", "/tmp/cs336-forged"):  # noqa: S108
        with contextlib.suppress(OSError):
            Path(path).write_text("forged", encoding="ascii")
            return path
    raise OSError("no way")


@against("file system")
def remove_a_file(target: Target) -> str:
    """Removes the file, moves it away, and cuts it short."""
    acts: list[Callable[[str], object]] = [
        lambda path: os.rename(path, "canary"),
        lambda path: os.truncate(path, 0),
        os.unlink,
    ]
    for act in acts:
        with contextlib.suppress(OSError):
            act(text(target["file"]))
            return "gone"
    raise OSError("no way")


@against("file system")
def change_the_submission(_target: Target) -> str:
    """Writes over its own staged source, which the next check would import."""
    Path(__file__).write_text("", encoding="ascii")
    return __file__


@against("file system")
def close_the_submission(_target: Target) -> str:
    """Takes its own source away from all readers, by the file that it may read."""
    descriptor = os.open(__file__, os.O_RDONLY)
    before = os.fstat(descriptor)
    changes: list[Callable[[], None]] = [
        lambda: os.fchmod(descriptor, 0),
        lambda: os.fchown(descriptor, -1, os.getgid()),
        lambda: os.setxattr(descriptor, "user.mine", b""),
        lambda: os.utime(descriptor, (0, 0)),
    ]
    for change in changes:
        with contextlib.suppress(OSError):
            change()
    after = os.fstat(descriptor)
    if (before.st_mode, before.st_ctime_ns) != (after.st_mode, after.st_ctime_ns):
        return __file__
    raise OSError("no way")


@against("file system")
def import_the_reference(_target: Target) -> str:
    """Imports what lies beside the grader and what is installed under the same name."""
    from cs336_basics import model  # noqa: PLC0415

    return str(model.__file__)


@against("file system")
def read_the_grader(target: Target) -> str:
    """Reads the grader's own source, by its path and by importing it."""
    with contextlib.suppress(OSError):
        return Path(text(target["grader"]), "pipeline.py").read_text(encoding="utf-8")[:100]
    from cs336_grader.judging import scoring  # noqa: PLC0415

    return str(scoring.__file__)


@against("file system")
def read_a_disk(_target: Target) -> str:
    """Makes a device file for the disk and reads from it."""
    os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    return str(Path("disk").open("rb").read(1))


@against("network")
def connect_by_tcp(target: Target) -> str:
    """Connects to a port that something listens at."""
    with socket.create_connection(("127.0.0.1", target["tcp_port"]), timeout=1):
        return "connected"


@against("network")
def send_a_datagram(target: Target) -> str:
    """Sends what it knows by UDP, as a name server would be asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"secret", ("127.0.0.1", target["udp_port"]))
    return "sent"


@against("network")
def connect_to_an_abstract_socket(target: Target) -> str:
    """Connects to a socket that has a name and no place, as a desktop's bus."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + text(target["abstract_socket"]))
    return "connected"


@against("network")
def connect_to_a_socket_with_a_path(target: Target) -> str:
    """Connects to a socket in the file system, as a container's or a key agent's."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(text(target["socket"]))
    return "connected"


@against("network")
def ask_the_kernel_for_routes(_target: Target) -> str:
    """Opens sockets of rare families: raw, packet, netlink, virtual machine, crypto."""
    opened = []
    for family, kind in ((2, 3), (17, 3), (16, 3), (40, 1), (38, 5)):
        with contextlib.suppress(OSError), socket.socket(family, kind):
            opened.append(family)
    if not opened:
        raise OSError("none")
    return str(opened)


@against("processes")
def see_processes(target: Target) -> str:
    """Finds a process outside among those listed."""
    return Path(f"/proc/{target['pid']}/cmdline").read_text(encoding="utf-8")


@against("processes")
def read_an_environment(target: Target) -> str:
    """Looks for a secret in the environment of every process that is to be seen."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            found = Path("/proc", name, "environ").read_bytes()
            if target["secret"] in found:
                return "the secret"
    raise OSError("nowhere")


@against("processes")
def attach_to_a_process(target: Target) -> str:
    """Attaches to a process outside as a debugger, reads its memory, borrows its files."""
    libc = ctypes.CDLL(None, use_errno=True)
    seize, pidfd_open, pidfd_getfd = 0x4206, 434, 438
    if libc.ptrace(seize, target["pid"], None, None) == 0:
        return "attached"
    with contextlib.suppress(OSError):
        return str(os.open(f"/proc/{target['pid']}/mem", os.O_RDWR))
    descriptor = libc.syscall(pidfd_open, target["pid"], 0)
    if descriptor >= 0 and libc.syscall(pidfd_getfd, descriptor, 0, 0) >= 0:
        return "borrowed"
    raise OSError("no way")


@against("anything")
def signal_its_own_group(_target: Target) -> None:
    """Ends all that belongs to its group, which it was born into."""
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)


@against("anything")
def use_large_pieces_of_the_kernel(_target: Target) -> str:
    """Opens what exploits begin with: BPF, performance events, io_uring, user faults, keys."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = {
        "x86_64": {"bpf": 321, "perf": 298, "io_uring": 425, "userfaultfd": 323, "keyctl": 250},
        "aarch64": {"bpf": 280, "perf": 241, "io_uring": 425, "userfaultfd": 282, "keyctl": 219},
    }[os.uname().machine]
    opened = []
    for name, number in numbers.items():
        buffer = ctypes.create_string_buffer(256)
        ctypes.set_errno(0)
        eperm = 1
        if libc.syscall(number, 0, buffer, 1, -1, 0, 0) >= 0 or ctypes.get_errno() != eperm:
            opened.append(name)
    if not opened:
        raise OSError("none")
    return str(opened)


@against("anything")
def enter_new_namespaces(_target: Target) -> str:
    """Becomes root in a namespace of its own, where more of the kernel is within reach."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, mount, network = 0x10000000, 0x00020000, 0x40000000
    for flags in (user, user | mount, network, mount):
        if libc.unshare(flags) == 0:
            return hex(flags)
    raise OSError("none")


@against("anything")
def mount_a_file_system(_target: Target) -> str:
    """Mounts, unmounts, and changes the root."""
    libc = ctypes.CDLL(None, use_errno=True)
    for done in (
        libc.mount(b"none", b"/", b"tmpfs", 0, None),
        libc.umount2(b"/proc", 2),
        libc.chroot(b"."),
    ):
        if done == 0:
            return "done"
    raise OSError("none")


@against("anything")
def gain_privileges(_target: Target) -> str:
    """Becomes root again, or takes capabilities through a program that has them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    held = [line for line in status.splitlines() if line.startswith(("CapEff", "CapPrm"))]
    if any(int(line.split()[1], 16) for line in held):
        return str(held)
    if os.getuid() != 0:
        os.setuid(0)
        return "root"
    raise OSError("none")


@against("anything")
def find_open_files(_target: Target) -> str:
    """Looks for files and connections that were left open, besides its own channel."""
    found = []
    for descriptor in range(3, 1024):
        with contextlib.suppress(OSError):
            found.append((descriptor, os.readlink(f"/proc/self/fd/{descriptor}")))
    others = [name for _, name in found if not name.startswith("/proc/")]
    if len(others) <= 1:
        raise OSError("none")
    return str(others)


@against("anything")
def type_into_the_terminal(_target: Target) -> str:
    """Types a command into the terminal that the grader was started from."""
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    with open("/dev/tty", "rb") as terminal:
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
    return "typed"


@against("signals")
def kill_a_process(target: Target) -> str:
    """Kills a process outside."""
    os.kill(target["victim"], signal.SIGKILL)
    return "killed"


@against("signals")
def kill_everything(_target: Target) -> None:
    """Kills every process that it may."""
    with contextlib.suppress(OSError):
        os.kill(-1, signal.SIGKILL)


@against("signals")
def starve_a_process(target: Target) -> str:
    """Takes the processor away from a process outside by its limits."""
    import resource  # noqa: PLC0415

    resource.prlimit(target["victim"], resource.RLIMIT_CPU, (1, 1))
    return "limited"


@against("file system")
def leave_a_file(_target: Target) -> None:
    """Leaves files for the next check: in its folder, beside it, in shared memory."""
    for place in (".", "..", "../imported", os.environ["HOME"], "/dev/shm"):  # noqa: S108
        with contextlib.suppress(OSError):
            Path(place, "left-behind").write_text("from an earlier check", encoding="ascii")


@against("file system")
def find_a_file(_target: Target) -> str:
    """Finds what the check before it has left."""
    for place in (".", "..", "../imported", os.environ["HOME"]):
        if Path(place, "left-behind").exists():
            return place
    raise OSError("nothing")


@against("processes")
def find_shared_memory(_target: Target) -> str:
    """Finds in shared memory what the check before it has left, or what others have there."""
    return str(os.listdir("/dev/shm")[0])  # noqa: S108


@against("anything")
def leave_a_daemon(target: Target) -> None:
    """Starts a process that leaves its session and its parent, and waits for its time."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            ctypes.CDLL(None).prctl(15, target["daemon"], 0, 0, 0)
            time.sleep(1000)
        os._exit(0)
    time.sleep(0.1)


@against("memory")
def take_memory(target: Target) -> str:
    """Takes more memory than a process may have, at once."""
    return str(len(bytearray(target["memory_bytes"])))


@against("anything")
def forge_a_sender(target: Target) -> str:
    """Says in the system's own words that it is another process."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    credentials = struct.pack("3i", target["pid"], os.getuid(), os.getgid())
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)])
    return "forged"


@against("anything")
def load_a_program(_target: Target) -> str:
    """Starts a program that would gain privileges by its owner."""
    for path in ("/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/bin/mount"):
        with contextlib.suppress(OSError):
            pid = os.fork()
            if pid == 0:
                os.execv(path, [path, "--version"])  # noqa: S606 (with no shell, as meant)
            os.waitpid(pid, 0)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    if "NoNewPrivs:\t1" not in status:
        return "new privileges are to be had"
    raise OSError("none")
