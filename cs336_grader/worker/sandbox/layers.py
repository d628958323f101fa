"""Applies the layers of the sandbox, each in its process and in this order.

    zygote             namespaces, root file system             `prepare`, before any submission
      └─ keeper        a namespace of processes                 `enter_process_namespace`
           └─ import   user, capabilities, Landlock, seccomp    `close`, before the import
                └─ problem   its own folder alone               `enter_own_folder`

A layer that the system refuses is left out, with the reason. No layer proves that a resource is
closed: `probes` measures it.
"""

import json
import os
import stat
import sys
from collections.abc import Callable
from contextlib import closing, suppress

from . import landlock, limits, namespaces, privileges, root_filesystem, seccomp
from .scratch import Scratch
from .syscalls import CLONE_NEWPID, MACHINE, unshare

NAMESPACES, OWN_ROOT, PROCESSES = "namespaces", "own root", "own processes"
USER, CAPABILITIES, LANDLOCK, SECCOMP = "another user", "no capabilities", "Landlock", "seccomp"
RESOURCE_LIMITS = "resource limits"
# The resources that each layer closes, in the order of reports.
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
    """The sandbox of a process and of those that it forks.

    Attributes:
        missing: for each layer why it is missing; empty if it is in force or may still be applied.
        closed: True in a process that may import a submission.
        scratch: the folders to write to.
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
        self.scratch = Scratch(shown, self.user, mounted=False)

    def prepare(self) -> None:
        """Enter new namespaces and a root file system, in the zygote."""
        # The parent may have hidden its memory; that would close files in ``/proc`` used below.
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
        self.scratch = Scratch(self.root, self.user, mounted=not self.missing[OWN_ROOT])
        os.chdir(self.root.scratch)
        if not self.missing[PROCESSES]:
            self.processes = os.stat(root_filesystem.PROCESSES).st_dev
        privileges.hide_memory()

    def trial(self) -> dict[str, str]:
        """Return for each layer why it is missing, tried in a process that ends at once.

        A layer that fails halfway cannot be undone.
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
        """Return for each layer why it is missing, tried in this process."""
        self.attempt(NAMESPACES, namespaces.leave_shared_namespaces)
        if self.missing[NAMESPACES]:
            self.missing[OWN_ROOT] = self.missing[PROCESSES] = self.missing[NAMESPACES]
        self.attempt(OWN_ROOT, lambda: root_filesystem.enter(self.root, self.user))
        self.attempt(USER, self.live_as_user)
        return self.missing

    def live_as_user(self) -> None:
        """Become the worker's user, and raise an error if Python cannot read its own files then."""
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
        """Let the worker's user read the submission."""
        above = os.path.dirname(self.root.staged)
        if not os.stat(above).st_mode & stat.S_IRWXO:
            share(above, self.user)
        for folder, _, files in os.walk(self.root.staged):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                share(path, self.user)

    def attempt(self, layer: str, apply: Callable[[], None]) -> None:
        """Apply a layer, unless it is known to be missing; if it fails, note why."""
        if not self.missing[layer]:
            try:
                apply()
            except OSError as error:
                self.missing[layer] = error.strerror or str(error)
            except ValueError as error:
                # Python raises it if a limit is above the allowed one.
                self.missing[layer] = str(error)

    def enter_process_namespace(self) -> None:
        """Continue in a new process, the first of a new namespace of processes.

        The present process waits for it, and all processes of the namespace end with it.
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
        """Give up everything that the import of a submission does not need."""
        # The submission may look at its own memory.
        privileges.show_memory()
        # A signal to the own process group must not reach the zygote.
        os.setsid()
        self.attempt(PROCESSES, lambda: root_filesystem.own_processes(self.processes))
        self.attempt(RESOURCE_LIMITS, lambda: limits.apply(self.limits, others=self.others))
        if not self.missing[CAPABILITIES]:
            privileges.drop_bounding_capabilities()
        self.attempt(USER, lambda: privileges.become(self.user))
        self.attempt(CAPABILITIES, privileges.drop_capabilities)
        os.makedirs(self.scratch.imported, exist_ok=True)
        if not self.missing[LANDLOCK] or not self.missing[SECCOMP]:
            privileges.no_new_privileges()
        self.attempt(LANDLOCK, self.restrict_files)
        self.attempt(SECCOMP, self.filter_calls)
        self.closed = True

    def filter_calls(self) -> None:
        """Refuse system calls; a few more if only Landlock protects the user's files."""
        in_sight = bool(self.missing[OWN_ROOT] and self.missing[USER])
        seccomp.install(seccomp.for_workers(MACHINE, keep_attributes=in_sight))

    def restrict_files(self) -> None:
        """Allow the files that the root file system shows, and no others."""
        if not landlock.version():
            raise OSError("the system has none")
        listed: set[str] = set()
        if self.missing[OWN_ROOT]:
            # A rule is for the target of a link, so hidden paths must be real ones too.
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
        """Let this process, forked from the import, write to a new folder alone; return its path.

        It may also write to the folder of the import: some modules decide where they write when
        they are imported.
        """
        self.scratch.make_own()
        if not self.missing[LANDLOCK]:
            writable = [self.scratch.own, self.scratch.imported, root_filesystem.SHARED_MEMORY]
            # The import's own rules chose the devices: a rule can only take more away.
            ruleset = landlock.Ruleset(["/"], writable, [root_filesystem.DEVICE_FOLDER])
            with closing(ruleset):
                ruleset.enforce()
        return self.scratch.own


def share(path: str, group: int) -> None:
    """Let a group read a file, or enter a folder."""
    mode = os.stat(path).st_mode
    readable = stat.S_IRGRP | (stat.S_IXGRP if stat.S_ISDIR(mode) else 0)
    os.chown(path, -1, group)
    os.chmod(path, mode | readable)
