"""A submission in a tar archive, plain or compressed with gzip.

The headers are read here because the standard library's reader can be made to loop, to take
quadratic time and to hold a whole archive in memory. Understood are the formats of 1988 (ustar),
GNU (long names) and POSIX.1-2001 (pax); a sparse file is left out.
"""

import contextlib
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from cs336_grader.records import CouldNotJudgeError

from .listing import Listing, damage, is_bomb
from .notes import Notes

BLOCK = 512
CHUNK = 2**20
MAX_MEMBERS = 500_000
MAX_EXTENSION_BYTES = 2**20
MAX_UNPACKED_BYTES = 2**30
MAX_DIGITS = 20

REGULAR = {b"0", b"\0", b"7"}
LINKS = {b"1", b"2"}
# Links, devices, folders and pipes have no content, whatever size their header gives.
WITHOUT_CONTENT = {b"1", b"2", b"3", b"4", b"5", b"6"}
FOLDER, LONG_NAME, LONG_LINK, PAX, PAX_GLOBAL, SPARSE = b"5", b"L", b"K", b"x", b"g", b"S"


class BadTarError(Exception):
    """The archive cannot be understood; the text says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive: its name and kind, and where its content lies."""

    name: str
    kind: bytes
    offset: int
    size: int
    is_sparse: bool = False


class TarSource:
    """A submission in a tar archive.

    Args:
        descriptor: the open archive, which is closed with this.
    """

    def __init__(self, descriptor: int, name: str, notes: Notes, *, packed: bool) -> None:
        self.name = name
        self.notes = notes
        self.listing: Listing[Member] = Listing(name, notes)
        self.file: IO[bytes] = os.fdopen(descriptor, "rb")
        with contextlib.ExitStack() as failed:
            failed.callback(self.close)
            try:
                if packed:
                    self.file = unpacked(self.file, name)
                for member in members(self.file):
                    self.admit(member)
            except (BadTarError, OSError, EOFError, zlib.error) as error:
                why = str(error) if isinstance(error, BadTarError) else damage(error)
                raise CouldNotJudgeError(f"{name} is no readable tar archive: {why}") from error
            failed.pop_all()
        self.listing.finish()
        self.sizes, self.unseen = self.listing.sizes, self.listing.unseen

    def admit(self, member: Member) -> None:
        """Add a member to the list, unless it is none that a submission needs."""
        if member.kind in LINKS:
            self.notes.skipped("links are not followed", member.name)
        elif member.kind == FOLDER or member.name.endswith("/"):
            return
        elif member.is_sparse or member.kind == SPARSE:
            self.notes.skipped("sparse files are not supported", member.name)
        elif member.kind not in REGULAR:
            self.notes.skipped("not a regular file", member.name)
        else:
            self.listing.add(member.name, member.size, member)

    def read(self, path: PurePosixPath) -> bytes:
        """A member's content."""
        member = self.listing.entries[path].place
        if member.size > MAX_UNPACKED_BYTES:
            raise CouldNotJudgeError(f"{path} is too large")
        self.file.seek(member.offset)
        return self.file.read(member.size)

    def close(self) -> None:
        """Close the archive."""
        self.file.close()


def unpacked(file: IO[bytes], name: str) -> IO[bytes]:
    """A nameless file with the content of one compressed with gzip, up to a limit."""
    packed_bytes = os.fstat(file.fileno()).st_size
    with contextlib.ExitStack() as failed, gzip.GzipFile(fileobj=file) as stream:
        content = failed.enter_context(tempfile.TemporaryFile())
        while chunk := stream.read(CHUNK):
            size = content.tell() + len(chunk)
            if size > MAX_UNPACKED_BYTES or is_bomb(size, packed_bytes):
                raise CouldNotJudgeError(
                    f"{name} unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MB or to "
                    "hundreds of times its size; have the assignment's files packed alone"
                )
            content.write(chunk)
        failed.pop_all()
    file.close()
    return content


def members(file: IO[bytes]) -> Iterator[Member]:
    """The members of an uncompressed archive.

    Raises:
        BadTarError: it cannot be understood.
    """
    total = file.seek(0, os.SEEK_END)
    position = 0
    extension: dict[str, str] = {}
    for _ in range(MAX_MEMBERS):
        file.seek(position)
        header = file.read(BLOCK)
        if not header.strip(b"\0"):
            return
        kind = kind_of(header)
        size = 0 if kind in WITHOUT_CONTENT else number(header[124:136])
        if kind in REGULAR and "size" in extension:
            size = decimal(extension["size"])
        position += BLOCK
        if position + size > total:
            raise BadTarError("it ends too early")
        if kind in {LONG_NAME, LONG_LINK, PAX, PAX_GLOBAL}:
            if size > MAX_EXTENSION_BYTES:
                raise BadTarError("a name or an attribute is too long")
            extension |= extended(kind, file.read(size))
        else:
            name = extension.get("path") or name_of(header)
            yield Member(name, kind, position, size, is_sparse="sparse" in extension)
            if kind == SPARSE and header[482]:
                raise BadTarError("sparse files of GNU's old format are not supported")
            extension = {}
        position += -(-size // BLOCK) * BLOCK
    raise BadTarError(f"it has more than {MAX_MEMBERS:,} members")


def kind_of(header: bytes) -> bytes:
    """The kind of member that a header is for, if it is a header."""
    blanked = header[:148] + b" " * 8 + header[156:]
    if len(header) < BLOCK or number(header[148:156]) != sum(blanked):
        raise BadTarError("a header is damaged")
    return header[156:157]


def name_of(header: bytes) -> str:
    """The name in a header."""
    name, prefix = text(header[:100]), text(header[345:500])
    # GNU's own format has times where the others have a prefix.
    return f"{prefix}/{name}" if prefix and header[257:263] == b"ustar\0" else name


def extended(kind: bytes, content: bytes) -> dict[str, str]:
    """What an extension says of the member after it: "path", "size", "sparse"."""
    if kind == LONG_NAME:
        return {"path": text(content)}
    if kind == LONG_LINK:
        return {}
    found: dict[str, str] = {}
    while content:
        digits, _, _ = content.partition(b" ")
        length = decimal(digits.decode("ascii", "replace"))
        record = content[len(digits) + 1 : length]
        if not len(digits) + 1 < length <= len(content) or not record.endswith(b"\n"):
            raise BadTarError("an attribute is damaged")
        key, _, value = record[:-1].partition(b"=")
        if key in {b"path", b"size"}:
            found[key.decode()] = value.decode("utf-8", "surrogateescape")
        elif key.startswith(b"GNU.sparse."):
            found["sparse"] = "yes"
        content = content[length:]
    if kind == PAX_GLOBAL and found:
        raise BadTarError("names or sizes for all members are not supported")
    return found


def text(field: bytes) -> str:
    """A field's text, up to the first zero."""
    content, _, rest = field.partition(b"\0")
    # Old programs may leave other bytes after the zero; a path there means a damaged name.
    if b"/" in rest:
        raise BadTarError("there is a zero byte in a name")
    return content.decode("utf-8", "surrogateescape")


def number(field: bytes) -> int:
    """A field's number: octal digits, or binary where the first bit is set."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not all(digit in b"01234567" for digit in digits):
        raise BadTarError("a number is damaged")
    return int(digits or b"0", 8)


def decimal(digits: str) -> int:
    """A decimal number of an extension."""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
        raise BadTarError("a number is damaged")
    return int(digits)
