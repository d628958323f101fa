"""The folders that workers write to. A submission decides what lies there: no link is followed."""

import os
import shutil
import stat
import subprocess
from collections.abc import Collection, Iterator
from contextlib import suppress

from . import root_filesystem


class Scratch:
    """The folder that all workers of a submission write to, and the folders in it.

    Args:
        root: says where the folder lies.
        user: the user that workers run as.
        mounted: True if the root file system is the sandbox's own, with mounts to write to.

    Attributes:
        imported: the folder of the process that imports the submission.
        own: the folder of this process alone; empty if it has none.
        kept: the paths of the files that the import wrote.
    """

    def __init__(self, root: root_filesystem.RootFilesystem, user: int, *, mounted: bool) -> None:
        self.root = root
        self.user = user
        self.mounted = mounted
        self.imported = os.path.join(root.scratch, "imported")
        self.own = ""
        self.kept: frozenset[str] = frozenset()

    def make_own(self) -> None:
        """Make a folder for this process alone."""
        # The import of the submission cannot have taken this name.
        self.own = os.path.join(self.root.scratch, f"problem-{os.urandom(8).hex()}")
        os.mkdir(self.own, 0o700)

    def empty_own(self) -> None:
        """Remove everything in this process's own folder, if it has one, and work there again.

        Raises:
            OSError: the folder is gone, or a link has taken its place.
        """
        if not self.own:
            return
        if not stat.S_ISDIR(os.lstat(self.own).st_mode):
            raise NotADirectoryError(self.own)
        os.chdir(self.own)
        for path in listed(self.own):
            with suppress(OSError, RecursionError):
                remove(path)

    def keep_imported(self) -> int:
        """From now on, keep the files that the import wrote; return their number."""
        files = list(paths_below(self.imported))
        self.kept = frozenset((self.imported, *files))
        return len(files)

    def clean(self) -> None:
        """Remove everything that workers have written, without the files to keep."""
        written = list(paths_below(self.root.scratch, self.kept))
        if self.mounted or self.user != os.geteuid():
            in_memory = listed(root_filesystem.SHARED_MEMORY)
            written += [path for path in in_memory if self.mounted or owner(path) == self.user]
        for path in written:
            if path not in self.kept:
                self.clear(path)

    def clear(self, path: str) -> None:
        """Remove a file or folder, however deep it is and whatever its permissions are."""
        try:
            remove(path)
        except FileNotFoundError:
            pass
        except (OSError, RecursionError):
            if self.mounted:
                root_filesystem.renew(self.root, self.user)
            else:
                command = ["/bin/rm", "-rf", "--", path]
                subprocess.run(command, check=False, capture_output=True)


def listed(folder: str) -> list[str]:
    """Return the paths in a folder; none for a link, and none if it cannot be listed."""
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            return [os.path.join(folder, name) for name in os.listdir(folder)]
    return []


def paths_below(folder: str, entered: Collection[str] | None = None) -> Iterator[str]:
    """Yield the paths below a folder, at any depth.

    Args:
        folder: the folder.
        entered: the folders within it to look into; all of them if None.
    """
    pending = [folder]
    while pending:
        for path in listed(pending.pop()):
            yield path
            if entered is None or path in entered:
                pending.append(path)


def owner(path: str) -> int:
    """Return the user that a file belongs to; -1 if it is gone."""
    with suppress(FileNotFoundError):
        return os.lstat(path).st_uid
    return -1


def remove(path: str) -> None:
    """Remove a file, a link, or a folder with everything in it."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
