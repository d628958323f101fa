"""Puts the layers together: which are used, in which process, and in which order.

    zygote             namespaces, root file system             `prepare`, before any submission
      └─ init          a namespace of processes                 `enter_process_namespace`
           └─ import   user, capabilities, Landlock, seccomp    `close`, before the import
                └─ problem   its own folder alone               `enter_own_folder`

A layer that cannot be had is left out, and why is kept. None of them is proof that something is
closed: `probes` finds that out.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress

from . import landlock, limits, namespaces, privileges, root_filesystem, seccomp
from .scratch import added, below, everything_below, owner, remove
from .syscalls import CLONE_NEWPID, MACHINE, unshare

IMPORTED = "imported"
NAMESPACES, OWN_ROOT, PROCESSES = "namespaces", "own root", "own processes"
USER, CAPABILITIES, LANDLOCK, SECCOMP = "another user", "no capabilities", "Landlock", "seccomp"
RESOURCE_LIMITS = "resource limits"
# What each layer is there to close, and the layers in the order in which they are told.
CLOSES: dict[str, tuple[str, ...]] = {
    NAMESPACES: ("network",),
    OWN_ROOT: ("file system", "network"),
    PROCESSES: ("processes", "signals"),
    USER: ("processes", "signals"),
    CAPABILITIES: (),
    LANDLOCK: ("file system", "network", "processes", "signals"),
    SECCOMP: ("network", "processes"),
    RESOURCE_LIMITS: ("memory",),
}


class Sandbox:
    """Closes a process, layer by layer, around a submission.

    Attributes:
        missing: why each layer is not in force; empty for one that is.
        closed: whether this is a process that a submission may be imported in.
    """

    def __init__(
        self, shown: root_filesystem.RootFilesystem, allowed: limits.Limits, *, wanted: bool
    ) -> None:
        self.root = shown
        self.limits = allowed
        self.missing = dict.fromkeys(CLOSES, "" if wanted else "not asked for")
        if wanted and sys.platform != "linux":
            self.missing.update(
                dict.fromkeys(CLOSES.keys() - {RESOURCE_LIMITS}, "Linux alone has it")
            )
        self.user = os.geteuid() if self.missing[USER] else privileges.worker_user()
        self.others = 0
        self.processes = 0
        self.closed = False
        self.kept: frozenset[str] = frozenset()
        self.own = ""

    def prepare(self) -> None:
        """Leave the namespaces and the root that are shared with others, as far as possible."""
        # Whoever forked this process may be closed; what follows writes to files in ``/proc``.
        privileges.show_memory()
        with suppress(OSError):
            limits.be_ended_first()
        if self.user != os.geteuid():
            self.admit_user()
        self.missing.update(self.trial())
        if self.missing[USER]:
            self.user = os.geteuid()
        os.chown(self.root.scratch, self.user, -1)
        if self.user == os.geteuid() and self.missing[NAMESPACES]:
            self.others = limits.processes_of(self.user)
        self.attempt(NAMESPACES, namespaces.leave_shared_namespaces)
        self.attempt(OWN_ROOT, lambda: root_filesystem.enter(self.root, self.user))
        os.chdir(self.root.scratch)
        if not self.missing[PROCESSES]:
            self.processes = os.stat(root_filesystem.PROCESSES).st_dev
        privileges.hide_memory()

    def trial(self) -> dict[str, str]:
        """Why layers cannot be had: found out by a process that is thrown away.

        Half a layer would be worse than none, and half of one cannot be taken back.
        """
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                os.close(reader)
                os.write(writer, json.dumps(self.tried()).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as answers:
            answer = answers.read()
        os.waitpid(pid, 0)
        return dict(json.loads(answer)) if answer else dict.fromkeys(CLOSES, "its trial failed")

    def tried(self) -> dict[str, str]:
        """Why layers cannot be had, after an attempt at each in this process."""
        self.attempt(NAMESPACES, namespaces.leave_shared_namespaces)
        if self.missing[NAMESPACES]:
            self.missing[OWN_ROOT] = self.missing[PROCESSES] = self.missing[NAMESPACES]
        self.attempt(OWN_ROOT, lambda: root_filesystem.enter(self.root, self.user))
        self.attempt(USER, self.live_as_user)
        return self.missing

    def live_as_user(self) -> None:
        """Become the worker's user, and see whether Python still finds its own files."""
        if self.user == os.geteuid():
            raise OSError("only root can become another user")
        needed = [
            path
            for path in [*root_filesystem.interpreter(), self.root.staged]
            if os.path.exists(path)
        ]
        privileges.become(self.user)
        for path in needed:
            if not os.access(path, os.R_OK):
                raise OSError(f"Python's own files are closed to other users: {path}")

    def admit_user(self) -> None:
        """Let the worker's user read the submission, where only this user can so far."""
        above = os.path.dirname(self.root.staged)
        if not os.stat(above).st_mode & stat.S_IRWXO:
            share(above, self.user)
        for folder, _, files in os.walk(self.root.staged):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                share(path, self.user)

    def attempt(self, layer: str, apply: Callable[[], None]) -> None:
        """Use a layer, unless it is known to be missing; if it fails, note why."""
        if not self.missing[layer]:
            try:
                apply()
            except OSError as error:
                self.missing[layer] = error.strerror or str(error)
            except ValueError as error:
                # How Python puts that a limit is above what may be set.
                self.missing[layer] = str(error)

    def enter_process_namespace(self) -> None:
        """Go on in a new process whose descendants are all there is to see.

        This one stays behind and ends when that one does, and takes all of them along.
        """
        self.attempt(PROCESSES, lambda: unshare(CLONE_NEWPID))
        if self.missing[PROCESSES]:
            return
        pid = os.fork()
        if pid:
            os.closerange(0, os.sysconf("SC_OPEN_MAX"))
            os.waitpid(pid, 0)
            os._exit(0)

    def close(self) -> None:
        """Give up all that importing a submission does not need."""
        # Its memory is the submission's own, which may look at itself.
        privileges.show_memory()
        # A signal to its own group must not reach those that it was forked from.
        os.setsid()
        self.attempt(PROCESSES, lambda: root_filesystem.own_processes(self.processes))
        self.attempt(RESOURCE_LIMITS, lambda: limits.apply(self.limits, others=self.others))
        if not self.missing[CAPABILITIES]:
            privileges.drop_bounding_capabilities()
        self.attempt(USER, lambda: privileges.become(self.user))
        self.attempt(CAPABILITIES, privileges.drop_capabilities)
        os.makedirs(self.imported, exist_ok=True)
        if not self.missing[LANDLOCK] or not self.missing[SECCOMP]:
            privileges.no_new_privileges()
        self.attempt(LANDLOCK, self.restrict_files)
        self.attempt(SECCOMP, self.filter_calls)
        self.closed = True

    def filter_calls(self) -> None:
        """Refuse system calls; where only Landlock stands before the user's files, a few more."""
        in_sight = bool(self.missing[OWN_ROOT] and self.missing[USER])
        seccomp.install(seccomp.for_workers(MACHINE, keep_attributes=in_sight))

    @property
    def imported(self) -> str:
        """The folder of the process that imports the submission."""
        return os.path.join(self.root.scratch, IMPORTED)

    def restrict_files(self) -> None:
        """Let what the root shows be opened, and nothing else."""
        if not landlock.version():
            raise OSError("the system has none")
        listed: set[str] = set()
        if self.missing[OWN_ROOT]:
            # A rule is for what a link leads to: what is hidden must be known by that name.
            trees = {os.path.realpath(tree) for tree in self.root.trees()}
            masked = [os.path.realpath(path) for path in self.root.masked()]
            readable = [part for tree in trees for part in landlock.without(tree, masked)]
            readable += [root_filesystem.PROCESSES, root_filesystem.PROCESSORS]
            # Python looks for modules in a folder by listing it.
            listed = {os.path.dirname(path) for path in masked}
        else:
            readable = ["/"]
        writable = [self.root.scratch, root_filesystem.SHARED_MEMORY]
        ruleset = landlock.Ruleset(readable, writable, root_filesystem.DEVICES, listed)
        with closing(ruleset):
            ruleset.enforce()

    def enter_own_folder(self) -> str:
        """Hold this process, forked from the import, to a new folder of its own; its path.

        It may also write to the folder of the import: some modules settle where they write when
        they are imported.
        """
        # A name that the import of the submission cannot have taken.
        self.own = os.path.join(self.root.scratch, f"problem-{os.urandom(8).hex()}")
        os.mkdir(self.own, 0o700)
        if not self.missing[LANDLOCK]:
            writable = [self.own, self.imported, root_filesystem.SHARED_MEMORY]
            # Which of the devices is settled since the import: more can only be taken away.
            ruleset = landlock.Ruleset(["/"], writable, [root_filesystem.DEVICE_FOLDER])
            with closing(ruleset):
                ruleset.enforce()
        return self.own

    def empty_own_folder(self) -> None:
        """Return to this process's own folder, if it has one, and remove what was left there.

        Raises:
            OSError: the folder is gone, or a link has taken its place.
        """
        if not self.own:
            return
        if not stat.S_ISDIR(os.lstat(self.own).st_mode):
            raise NotADirectoryError(self.own)
        os.chdir(self.own)
        for path in below(self.own):
            with suppress(OSError, RecursionError):
                remove(path)

    def keep_imported(self) -> int:
        """From now on, leave the files that the import of the submission wrote; how many."""
        self.kept = frozenset((self.imported, *everything_below(self.imported)))
        return len(self.kept) - 1

    def clean(self) -> None:
        """Remove the files that workers have left."""
        found = below(self.root.scratch)
        if not self.missing[OWN_ROOT]:
            found += below(root_filesystem.SHARED_MEMORY)
        elif self.user != os.geteuid():
            found += [
                path for path in below(root_filesystem.SHARED_MEMORY) if owner(path) == self.user
            ]
        if self.kept:
            found = [path for path in found if path not in self.kept]
            found += added(self.imported, self.kept)
        for path in found:
            self.clear(path)

    def clear(self, path: str) -> None:
        """Remove what lies at a path, whatever was done to it."""
        try:
            remove(path)
        except FileNotFoundError:
            pass
        except (OSError, RecursionError):
            # Nested too deep for Python, or without permissions.
            if not self.missing[OWN_ROOT]:
                root_filesystem.renew(self.root, self.user)
            else:
                command = ["/bin/rm", "-rf", "--", path]
                subprocess.run(command, check=False, capture_output=True)


def share(path: str, group: int) -> None:
    """Let a group read a file, or enter a folder."""
    mode = os.stat(path).st_mode
    readable = stat.S_IRGRP | (stat.S_IXGRP if stat.S_ISDIR(mode) else 0)
    os.chown(path, -1, group)
    os.chmod(path, mode | readable)
