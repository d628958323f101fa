"""Namespaces of mounts, network, messages and host name.

An ordinary user enters them through a user namespace. Some systems refuse that: containers with
Docker's default filter, and Ubuntu by a rule of AppArmor.
"""

import os
import sys
from pathlib import Path

from .syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MACHINE,
    PIVOT_ROOT,
    mount,
    unshare,
)

MS_REC, MS_PRIVATE = 0x4000, 0x40000
APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
MOST_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
DEBIAN = Path("/proc/sys/kernel/unprivileged_userns_clone")


def leave_shared_namespaces() -> None:
    """Enter new namespaces of mounts, network, messages and host name.

    Raises:
        OSError: the system refuses; namespaces that were entered by then are kept.
    """
    if MACHINE not in PIVOT_ROOT:
        raise OSError(f"not known on {MACHINE}")
    own = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
    if os.geteuid() == 0:
        unshare(own)
    else:
        user, group = os.geteuid(), os.getegid()
        unshare(CLONE_NEWUSER)
        # An ordinary user may map only itself.
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        unshare(own)
    # Later mounts must not show outside.
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def how_to_allow() -> str:
    """Return a command that would allow namespaces; empty if there is none."""
    if sys.platform != "linux":
        return ""
    if os.geteuid() == 0:
        return "docker run --security-opt seccomp=unconfined --cap-add SYS_ADMIN …"
    if setting(APPARMOR) == "1":
        return f"sudo sysctl -w kernel.{APPARMOR.name}=0"
    if setting(DEBIAN) == "0":
        return f"sudo sysctl -w kernel.{DEBIAN.name}=1"
    if setting(MOST_NAMESPACES) == "0":
        return "sudo sysctl -w user.max_user_namespaces=10000"
    return "docker run --security-opt seccomp=unconfined …"


def setting(path: Path) -> str:
    """Return a setting of the kernel; empty if it has none of that name."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
