"""A tar archive is as good as a folder, and a hostile one costs a sentence."""

import contextlib
import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest

from cs336_grader.intake import NothingToGradeError, stage, tar_archives
from cs336_grader.records import CouldNotJudgeError, Staged
from grader_tests.unit.submissions import NAMES, PACKAGE, STUBS, pack_tar

FILES: dict[str, str | bytes] = {"tests/adapters.py": STUBS}
LONG = "a-folder-with-a-long-name/" * 7


def staged(path: Path) -> Staged:
    """Stage an archive."""
    into = path.parent / "staged"
    into.mkdir(exist_ok=True)
    return stage(path, NAMES, into, package=PACKAGE)


def archive(tmp_path: Path, *members: tarfile.TarInfo, **options: int) -> Path:
    """Write an archive that holds adapters, and these members, each with the content "1"."""
    path = tmp_path / "submission.tar"
    with tarfile.open(path, "w", **options) as opened:  # type: ignore[call-overload]
        for info, content in (
            (tarfile.TarInfo("tests/adapters.py"), STUBS.encode()),
            *((info, b"1" if info.isreg() else b"") for info in members),
        ):
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """A member of this name and kind."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o6777
    return info


SKIPPED: dict[str, tuple[tarfile.TarInfo, str]] = {
    "parent": (member("tests/../../evil.py"), "leads out of the submission"),
    "backslashes": (member("tests\\..\\evil.py"), "leads out of the submission"),
    "link": (member("tests/evil.py", tarfile.SYMTYPE, "/etc/passwd"), "links are not followed"),
    "hard link": (
        member("tests/evil.py", tarfile.LNKTYPE, "../../etc/passwd"),
        "links are not followed",
    ),
    "device": (member("tests/evil.py", tarfile.CHRTYPE), "not a regular file"),
    "pipe": (member("tests/evil.py", tarfile.FIFOTYPE), "not a regular file"),
    "deep": (member("tests/" + "d/" * 40 + "evil.py"), "lies too deep"),
    "long": (member("tests/" + "evil" * 70 + ".py"), "the name is too long"),
    "file and folder": (member("tests"), "both a file and a folder"),
}


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_strange_member_is_skipped(tmp_path: Path, kind: str) -> None:
    """What is no regular file within the archive is left out with a note."""
    info, reason = SKIPPED[kind]
    found = staged(archive(tmp_path, info))
    assert any(reason in note for note in found.notes)
    assert {path.name for path in tmp_path.rglob("*.py")} == {"adapters.py", "__init__.py"}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_common_formats_are_read(tmp_path: Path, form: int) -> None:
    """Long names are found in each of the three ways they are written in."""
    beside = member(f"{LONG}tests/beside.py")
    adapters = member(f"{LONG}tests/adapters.py")
    with tarfile.open(tmp_path / "submission.tar", "w", format=form) as opened:
        for info in (adapters, beside):
            info.size = len(STUBS)
            opened.addfile(info, io.BytesIO(STUBS.encode()))
    found = staged(tmp_path / "submission.tar")
    assert (found.root / f"{LONG}tests/beside.py").read_text() == STUBS
    assert found.notes == ()


@pytest.mark.parametrize("name", ["work.tar", "work.tar.gz", "work.tgz", "work.upload"])
def test_the_content_tells_what_an_archive_is(tmp_path: Path, name: str) -> None:
    """The ending is not needed, and is no part of the submission's name."""
    packed = pack_tar(tmp_path / "x.tgz", FILES) if name != "work.tar" else None
    path = pack_tar(tmp_path / name, FILES) if packed is None else packed.rename(tmp_path / name)
    assert staged(path).name == "work"


def test_a_member_packed_twice_is_refused(tmp_path: Path) -> None:
    """Which of two members of one name counts is not guessed."""
    path = archive(tmp_path, member("./tests/adapters.py"))
    with pytest.raises(CouldNotJudgeError, match=r"holds tests/adapters\.py twice"):
        staged(path)


def test_no_privilege_is_kept(tmp_path: Path) -> None:
    """A copy has no bits for other users or groups, whatever the archive says."""
    found = staged(archive(tmp_path, member("tests/beside.py")))
    assert not (found.root / "tests/beside.py").stat().st_mode & 0o7133


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """Zeros without end are given up early."""
    path = tmp_path / "submission.tar.gz"
    with gzip.open(path, "wb") as packed:
        for _ in range(64):
            packed.write(bytes(2**20))
    with pytest.raises(CouldNotJudgeError, match="hundreds of times its size"):
        staged(path)


def test_an_archive_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What compresses little is limited, too."""
    monkeypatch.setattr(tar_archives, "MAX_UNPACKED_BYTES", 2**12)
    with pytest.raises(CouldNotJudgeError, match="unpacks to more than"):
        staged(pack_tar(tmp_path / "submission.tgz", FILES))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"print()" * 100, mtime=0), "is damaged"),
        (gzip.compress(bytes(2048), mtime=0)[:-9], "is cut off or damaged; have it packed"),
        (b"BZh91AY&SY", "a bzip2 archive, which is not supported"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive, which is not supported"),
        (b"", "is no archive: give a folder"),
    ],
)
def test_what_is_no_tar_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    """Another kind of file could not be judged, and is told by its kind where that is known."""
    path = tmp_path / "submission.tar.gz"
    path.write_bytes(content)
    with pytest.raises(CouldNotJudgeError, match=reason):
        staged(path)


def test_an_empty_archive_is_the_submissions_fault(tmp_path: Path) -> None:
    """Nothing was handed in."""
    with pytest.raises(NothingToGradeError, match="nor any other file"):
        staged(pack_tar(tmp_path / "submission.tgz", {}))


def header(name: bytes, size: bytes, kind: bytes = b"0") -> bytes:
    """A header with any size in it, and a checksum that is right."""
    fields = name.ljust(100, b"\0") + b"0000644\0" + b"0" * 16 + size.ljust(12, b"\0")
    block = bytearray(fields + b"0" * 12 + b" " * 8 + kind + bytes(100) + b"ustar\x0000")
    block += bytes(512 - len(block))
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


@pytest.mark.parametrize(
    "block",
    [
        header(b"a", b"777777777777"),
        header(b"a", b"\xff" * 12),
        header(b"a", b"\x80" + b"\xff" * 11),
        header(b"a", b"-0000001"),
        header(b"a", b"9"),
        header(b"a", b"00200000000", b"L"),
        header(b"a", b"04000001", b"L") + bytes(2**20 + 512),
        header(b"a", b"30", b"x") + b"99 path=a\n".ljust(512, b"\0"),
        header(b"a", b"12", b"x") + b"-4 path=a\n".ljust(512, b"\0"),
        header(b"a", b"12", b"x") + b"0 path=a\n".ljust(512, b"\0"),
        header(b"a", b"13", b"x") + b"11 size=-9\n".ljust(512, b"\0") + header(b"b", b"0"),
        header(b"a", b"12", b"g") + b"10 size=9\n".ljust(512, b"\0"),
    ],
)
def test_sizes_that_lie_are_refused(tmp_path: Path, block: bytes) -> None:
    """A size is a number of bytes that are there, in a header as in an extension."""
    path = tmp_path / "submission.tar"
    path.write_bytes(block + bytes(1024))
    with pytest.raises(CouldNotJudgeError, match="no readable tar archive"):
        staged(path)


def test_a_link_has_no_content(tmp_path: Path) -> None:
    """Some programs give a hard link the size of what it leads to, and what follows is a header."""
    path = tmp_path / "submission.tar"
    adapters = pack_tar(tmp_path / "whole.tar", FILES).read_bytes()
    path.write_bytes(header(b"link", b"0000777", b"1") + adapters)
    assert staged(path).notes == ("Left out (links are not followed): link.",)


def test_a_sparse_file_is_skipped(tmp_path: Path) -> None:
    """What a sparse file's content would be is not worked out."""
    info = member("tests/sparse.py")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "tests/sparse.py"}
    found = staged(archive(tmp_path, info, format=tarfile.PAX_FORMAT))
    assert found.notes == ("Left out (sparse files are not supported): tests/sparse.py.",)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_archive_never_ends_in_a_traceback(tmp_path: Path, seed: int) -> None:
    """Whatever bytes are changed or missing, staging succeeds or says why not."""
    draw = random.Random(seed)  # noqa: S311
    suffix = draw.choice(["tar", "tgz"])
    path = pack_tar(tmp_path / f"submission.{suffix}", {**FILES, LONG + "y.py": "1" * 99})
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 12)):
        content[draw.randrange(min(len(content), 4096))] = draw.randrange(256)
    path.write_bytes(content[: draw.choice([len(content), draw.randrange(len(content))])])
    with contextlib.suppress(CouldNotJudgeError, NothingToGradeError):
        staged(path)
