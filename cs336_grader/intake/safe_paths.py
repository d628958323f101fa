"""Turns any name of a file in a container into a path that every system can hold."""

import re
import sys
import unicodedata
from pathlib import PurePosixPath

MAX_DEPTH = 32
# The limit of most file systems for a name; less than the lowest limit of a system for a path.
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 900
NOT_PORTABLE = re.compile(r'[<>:"|?*]')
# Names of devices on Windows, also before an ending. On other systems they are ordinary names.
DEVICES = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\xb9\xb2\xb3])(?= *(?:\.|$))",
    re.IGNORECASE,
)


def safe_path(name: str) -> PurePosixPath | None:
    r"""A path below the submission's folder for a name; None for one that leads out of it.

    A backslash separates folders, as on Windows; the root and ``.`` are left out. Accents are
    composed, as in Python's names of modules; macOS stores them apart from their letters.

    >>> safe_path("./2026-01-02 10:30:00/tests/adapters.py")
    PurePosixPath('2026-01-02 10_30_00/tests/adapters.py')
    >>> safe_path("C:\\work.\\a.py"), safe_path("/b.py"), safe_path("a/../../b.py")
    (PurePosixPath('C_/work_/a.py'), PurePosixPath('b.py'), None)
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]
    if not parts or ".." in parts:
        return None
    return PurePosixPath(*map(safe_name, parts))


def safe_name(name: str) -> str:
    r"""A name that every system can hold. One that can be imported stays as it is.

    >>> safe_name("model.py"), safe_name("why?.py"), safe_name("a\0b\u202e\udcff"), safe_name("x. ")
    ('model.py', 'why_.py', 'a_b__', 'x__')
    """
    name = NOT_PORTABLE.sub("_", unicodedata.normalize("NFC", name))
    # Control characters, marks that reverse the direction of text, and bytes that are no text.
    name = "".join("_" if unicodedata.category(one)[0] == "C" else one for one in name)
    kept = name.rstrip(". ")
    name = kept + "_" * (len(name) - len(kept))
    if sys.platform == "win32" and (device := DEVICES.match(name)):
        name = f"{device[0]}_{name[device.end() :]}"
    return name


def is_storable(path: PurePosixPath) -> bool:
    """Return True for a path that is short enough for every system."""
    return (
        len(path.parts) <= MAX_DEPTH
        and len(str(path).encode()) <= MAX_PATH_BYTES
        and all(len(part.encode()) <= MAX_NAME_BYTES for part in path.parts)
    )
