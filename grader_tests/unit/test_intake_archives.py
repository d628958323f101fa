"""Hostile archives cost a sentence, never a traceback, and nothing leaves the staging folder."""

import contextlib
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cs336_grader.intake import NothingToGradeError, listing, stage, zip_archives
from cs336_grader.records import CouldNotJudgeError, Staged
from grader_tests.unit.submissions import NAMES, PACKAGE, STUBS, pack

Archive = zipfile.ZipFile


def staged(path: Path, tmp_path: Path) -> Staged:
    """Stage an archive."""
    into = tmp_path / "staged"
    into.mkdir(exist_ok=True)
    return stage(path, NAMES, into, package=PACKAGE)


def archive(tmp_path: Path, spoil: Callable[[Archive], None]) -> Path:
    """Write an archive that holds adapters, and whatever `spoil` adds."""
    path = tmp_path / "submission.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("tests/adapters.py", STUBS)
        spoil(opened)
    return path


def member(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    """A member of this name and kind."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


SKIPPED: dict[str, tuple[zipfile.ZipInfo, str]] = {
    "parent": (member("tests/../../evil.py"), "leads out of the submission"),
    "backslashes": (member("tests\\..\\..\\evil.py"), "leads out of the submission"),
    "link": (member("tests/evil.py", stat.S_IFLNK | 0o777), "links are not followed"),
    "device": (member("tests/evil.py", stat.S_IFCHR | 0o666), "not a regular file"),
    "pipe": (member("tests/evil.py", stat.S_IFIFO | 0o666), "not a regular file"),
    "deep": (member("tests/" + "d/" * 40 + "evil.py"), "lies too deep"),
    "long": (member("tests/" + "evil" * 70 + ".py"), "the name is too long"),
    "file and folder": (member("tests"), "both a file and a folder"),
}


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_strange_member_is_skipped(tmp_path: Path, kind: str) -> None:
    """What is no regular file within the archive is left out with a note."""
    info, reason = SKIPPED[kind]
    found = staged(archive(tmp_path, lambda opened: opened.writestr(info, "1")), tmp_path)
    assert reason in found.notes[0]
    files = {path.name for path in tmp_path.rglob("*.py")}
    assert files == {"adapters.py", "__init__.py"}


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A member that unpacks to hundreds of times its size is left out."""
    path = archive(tmp_path, lambda opened: opened.writestr("tests/zeros.py", b"\0" * 2**24))
    found = staged(path, tmp_path)
    assert "unpacks to hundreds of times its size" in found.notes[0]


def test_a_member_listed_twice_is_refused(tmp_path: Path) -> None:
    """Which of two members of one name counts is not guessed."""
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive(tmp_path, lambda opened: opened.writestr("tests/adapters.py", STUBS))
    with pytest.raises(CouldNotJudgeError, match=r"holds tests/adapters\.py twice"):
        staged(path, tmp_path)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    """A password is asked for by nobody."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    with pytest.raises(CouldNotJudgeError, match="is encrypted"):
        staged(path, tmp_path)


def test_a_member_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    """A size in the list of members is no promise."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS * 100})
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02") + 24
    content[at : at + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    with pytest.raises(CouldNotJudgeError, match="cannot be unpacked"):
        staged(path, tmp_path)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission of countless files is not gone through, whether folder or archive."""
    monkeypatch.setattr(listing, "MAX_FILES", 5)
    files: dict[str, str | bytes] = {f"{number}.txt": "" for number in range(6)}
    path = pack(tmp_path / "submission.zip", files)
    with pytest.raises(CouldNotJudgeError, match="more than 5 files"):
        staged(path, tmp_path)
    with zipfile.ZipFile(path) as opened:
        opened.extractall(tmp_path / "folder")
    with pytest.raises(CouldNotJudgeError, match="more than 5 files"):
        staged(tmp_path / "folder", tmp_path)


def test_an_environment_in_an_archive_is_left_out(tmp_path: Path) -> None:
    """A virtual environment's adapters are nobody's."""
    path = pack(
        tmp_path / "submission.zip",
        {"env/lib/python3.12/site-packages/x/adapters.py": STUBS, "tests/adapters.py": STUBS},
    )
    assert staged(path, tmp_path).notes == ()


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_archive_never_ends_in_a_traceback(tmp_path: Path, seed: int) -> None:
    """Whatever bytes are changed or missing, staging succeeds or says why not."""
    draw = random.Random(seed)  # noqa: S311
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS, "x/y.py": "1" * 99})
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 12)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content[: draw.choice([len(content), draw.randrange(len(content))])])
    with contextlib.suppress(CouldNotJudgeError, NothingToGradeError):
        staged(path, tmp_path)


def test_backslashes_lie_between_folders(tmp_path: Path) -> None:
    """An archive that a program for Windows wrote has the same files as any other."""
    path = tmp_path / "submission.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr(member("a1\\tests\\"), b"")
        opened.writestr(member("a1\\tests\\adapters.py"), STUBS)
    found = staged(path, tmp_path)
    assert (found.root / "a1" / "tests" / "adapters.py").read_text() == STUBS
    assert found.notes == ()


def patched(path: Path, changes: dict[bytes, tuple[int, bytes]], *, last: bool = False) -> Path:
    """Change bytes at an offset behind a signature, the first or the last one in the file."""
    content = bytearray(path.read_bytes())
    for signature, (offset, replacement) in changes.items():
        at = (content.rindex if last else content.index)(signature) + offset
        content[at : at + len(replacement)] = replacement
    path.write_bytes(content)
    return path


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Many members over one another unpack to any size."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS, "tests/other.py": STUBS})
    patched(path, {b"PK\x01\x02": (42, struct.pack("<I", 0))}, last=True)
    with pytest.raises(CouldNotJudgeError, match="lie over each other"):
        staged(path, tmp_path)


def test_an_endless_list_of_members_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is read at once and held in memory: its length is limited before."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS, "x" * 90: ""})
    monkeypatch.setattr(zip_archives, "MAX_READ_BYTES", 150)
    with pytest.raises(CouldNotJudgeError, match="its list of members is too long"):
        staged(path, tmp_path)


def test_a_size_of_64_bits_is_no_promise_either(tmp_path: Path) -> None:
    """A member that claims exabytes is no bomb to unpack and no reason to stop."""
    path = tmp_path / "submission.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("tests/adapters.py", STUBS)
        with opened.open("tests/data.bin", "w", force_zip64=True) as large:
            large.write(b"1")
    patched(path, {b"PK\x01\x02": (24, b"\xff" * 4)}, last=True)
    with contextlib.suppress(CouldNotJudgeError):
        staged(path, tmp_path)
    assert not (tmp_path / "staged" / "tests" / "data.bin").exists()


def test_a_method_that_is_not_supported_is_named(tmp_path: Path) -> None:
    """Deflate64, which Windows takes for large files, could not be judged."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS})
    patched(path, {b"PK\x03\x04": (8, b"\x09\0"), b"PK\x01\x02": (10, b"\x09\0")})
    with pytest.raises(CouldNotJudgeError, match=r"adapters\.py cannot .* method .* not supported"):
        staged(path, tmp_path)


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (lambda content: content[: len(content) // 2], "submission is no readable zip archive"),
        (lambda content: content[:50] + bytes(20) + content[70:], "adapters.py cannot be unpacked"),
    ],
)
def test_what_is_damaged_is_told_in_words(
    tmp_path: Path, damaged: Callable[[bytes], bytes], told: str
) -> None:
    """Not in those of a library, and with what to do."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS * 10})
    path.write_bytes(damaged(path.read_bytes()))
    words = "it is cut off or damaged; have it packed or downloaded again"
    with pytest.raises(CouldNotJudgeError, match=f"{told}: {words}"):
        staged(path, tmp_path)


def test_names_are_those_that_were_packed(tmp_path: Path) -> None:
    """A program of macOS writes UTF-8 without saying so, and takes accents apart."""
    files = {"tests/adapters.py": STUBS, "tests/cafe\u0301.py": STUBS}
    path = pack(tmp_path / "submission.zip", files)
    patched(path, {b"PK\x03\x04": (6, b"\0\0"), b"PK\x01\x02": (8, b"\0\0")}, last=True)
    assert (staged(path, tmp_path).root / "tests" / "caf\u00e9.py").exists()


def test_an_archive_behind_something_else_is_no_archive(tmp_path: Path) -> None:
    """What begins as another kind of file is not searched for a zip at its end."""
    path = pack(tmp_path / "submission.zip", {"tests/adapters.py": STUBS})
    path.write_bytes(b"%PDF-1.4" + path.read_bytes())
    with pytest.raises(CouldNotJudgeError, match="no archive"):
        staged(path, tmp_path)
