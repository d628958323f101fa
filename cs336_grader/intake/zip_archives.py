"""A submission in a zip archive. Nothing is extracted but what is read, one member at a time."""

import contextlib
import io
import os
import stat
import struct
import zipfile
import zlib
from itertools import pairwise
from lzma import LZMAError
from pathlib import PurePosixPath

from cs336_grader.records import CouldNotJudgeError

from .listing import Listing, damage, is_bomb, read_capped
from .notes import Notes

# As many members as a submission may have, each with a long name, have a shorter list than this.
MAX_READ_BYTES = 20 * 2**20
LOCAL_HEADER_BYTES = 30
ENCRYPTED = 1
UTF8_NAME = 0x800

ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class LongListError(zipfile.BadZipFile):
    """The list of members is too long to be read."""


class ShortReads(io.FileIO):
    """A file of which no large part is read at once.

    The list of members would be, however long it claims to be; all else is read in small parts.
    """

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes, or the rest."""
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size - self.tell()
        if size > MAX_READ_BYTES:
            raise LongListError("its list of members is too long")
        return super().read(size)


class ZipSource:
    """A submission in a zip archive.

    Args:
        descriptor: the open archive, which is closed with this.
    """

    def __init__(self, descriptor: int, name: str, notes: Notes) -> None:
        self.name = name
        self.notes = notes
        self.file = ShortReads(descriptor, "rb")
        self.listing: Listing[zipfile.ZipInfo] = Listing(name, notes)
        with contextlib.ExitStack() as failed:
            failed.callback(self.close)
            try:
                self.archive = zipfile.ZipFile(self.file)
            except ZIP_ERRORS as error:
                why = in_words(error)
                raise CouldNotJudgeError(f"{name} is no readable zip archive: {why}") from error
            members = self.archive.infolist()
            refuse_overlap(name, members)
            for member in members:
                self.admit(member)
            failed.pop_all()
        self.listing.finish()
        self.sizes, self.unseen = self.listing.sizes, self.listing.unseen

    def admit(self, member: zipfile.ZipInfo) -> None:
        """Add a member to the list, unless it is none that a submission needs."""
        name = name_of(member)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if stat.S_ISLNK(kind):
            self.notes.skipped("links are not followed", name)
        elif name.endswith("/"):
            return
        elif kind not in {0, stat.S_IFREG}:
            self.notes.skipped("not a regular file", name)
        elif is_bomb(member.file_size, member.compress_size):
            self.notes.skipped("unpacks to hundreds of times its size", name)
        else:
            self.listing.add(name, member.file_size, member)

    def read(self, path: PurePosixPath) -> bytes:
        """A member's content, whatever size the archive claims for it."""
        member = self.listing.entries[path].place
        if member.flag_bits & ENCRYPTED:
            raise CouldNotJudgeError(
                f"{path} is encrypted; have the archive packed without a password"
            )
        try:
            with self.archive.open(member) as file:
                return read_capped(file, path)
        except ZIP_ERRORS as error:
            raise CouldNotJudgeError(f"{path} cannot be unpacked: {in_words(error)}") from error

    def close(self) -> None:
        """Close the archive."""
        self.file.close()


def in_words(error: Exception) -> str:
    """Why an archive or a member of it cannot be read, for who is to mend it."""
    if isinstance(error, LongListError):
        return str(error)
    if isinstance(error, NotImplementedError):
        return "its method of compression is not supported; have it packed as an ordinary zip"
    return damage(error)


def name_of(member: zipfile.ZipInfo) -> str:
    r"""A member's name with slashes, as whoever packed it saw it.

    Some programs for Windows write backslashes, and macOS does not say that it writes UTF-8.
    """
    name = member.orig_filename
    if not member.flag_bits & UTF8_NAME:
        try:
            name = name.encode("cp437").decode()
        except UnicodeError:
            name = member.orig_filename
    return name.replace("\\", "/")


def refuse_overlap(name: str, members: list[zipfile.ZipInfo]) -> None:
    """Refuse members that share their bytes, of which an archive can unpack to any size."""
    ordered = sorted(members, key=lambda member: member.header_offset)
    for member, following in pairwise(ordered):
        end = member.header_offset + LOCAL_HEADER_BYTES + member.compress_size
        if end > following.header_offset:
            raise CouldNotJudgeError(
                f"{name} is no readable zip archive: {member.filename} and {following.filename} "
                "lie over each other"
            )
