"""The same work is the same submission in every container, and no name leads out of any."""

import io
import os
import shutil
import stat
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs336_grader.intake import NothingToGradeError, folders, stage
from cs336_grader.intake.notes import Notes
from cs336_grader.records import CouldNotJudgeError, Staged
from grader_tests.unit.submissions import NAMES, PACKAGE, STUBS, commit, pack, pack_tar, write

MODULE = "statistics_basics/__init__.py"
FOLDERS = ["statistics_basics", "tests", "Data", "caf\u00e9", "a b", "utils", "random", "x-y"]
FILES = ["model.py", "data.json", "na\u00efve.py", "no suffix", "Z.txt", ".hidden", "_private.py"]

paths = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    st.lists(st.sampled_from(FOLDERS), max_size=3),
    st.sampled_from(FILES),
)
trees = st.dictionaries(paths, st.binary(max_size=40), max_size=8).map(
    lambda files: {MODULE: b"", **files, "tests/adapters.py": STUBS.encode()}
)
hostile_names = st.lists(
    st.sampled_from(["..", ".", "", "/", "\\", "C:", "tests", "a.py", "\0", "\u0301", "x" * 300])
    | st.text(max_size=4),
    min_size=1,
    max_size=5,
).map("/".join)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of an example's own."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def staged(path: Path, revision: str | None = None) -> Staged:
    """Stage a submission into a folder beside it."""
    into = Path(tempfile.mkdtemp(dir=path.parent))
    return stage(path, NAMES, into, package=PACKAGE, revision=revision)


def contents(found: Staged) -> dict[str, bytes]:
    """All files that were staged, from the folder that imports start from."""
    root = found.root / found.search_paths[0]
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def containers(folder: Path, files: Mapping[str, bytes]) -> Iterator[tuple[Path, str | None]]:
    """The same files in every container there is."""
    below = {f"work-main/{name}": content for name, content in files.items()}
    apart = {unicodedata.normalize("NFD", name): content for name, content in files.items()}
    yield write(folder / "folder", files), None
    yield write(folder / "decomposed", apart), None
    yield write(folder / "above", below), None
    yield pack(folder / "flat.zip", files), None
    yield pack(folder / "below.zip", below), None
    yield pack_tar(folder / "flat.tar", files, above="./"), None
    yield pack_tar(folder / "below.tar.gz", below), None
    if shutil.which("git") is not None:
        yield commit(folder / "repository", files), "main"


@settings(max_examples=12, deadline=None)
@given(trees)
def test_every_container_stages_the_same(files: dict[str, bytes]) -> None:
    """Staged files and digest do not depend on what the work is packed in."""
    with scratch() as folder:
        found = [staged(path, revision) for path, revision in containers(folder, files)]
        assert len({each.sha256 for each in found}) == 1
        first, *others = map(contents, found)
        assert first
        for other in others:
            assert other == first


@settings(max_examples=60, deadline=None)
@given(st.lists(hostile_names, max_size=4), st.sampled_from(["zip", "tar", "tgz"]))
def test_no_name_leads_out_of_the_staging_folder(names: list[str], kind: str) -> None:
    """Whatever members are called, nothing is written but below the staging folder."""
    with scratch() as folder:
        files = {"tests/adapters.py": STUBS, **dict.fromkeys(names, "x = 1")}
        path = folder / f"submission.{kind}"
        with suppress(UnicodeEncodeError):
            pack_strange(path, files)
        into = folder / "deep" / "staged"
        into.mkdir(parents=True)
        before = everything(folder, apart_from=into)
        with suppress(CouldNotJudgeError, NothingToGradeError):
            found = stage(path, NAMES, into, package=PACKAGE)
            assert all(file.is_relative_to(into) for file in found.root.rglob("*"))
        assert everything(folder, apart_from=into) == before
        for file in into.rglob("*"):
            assert not file.is_symlink()


def pack_strange(path: Path, files: Mapping[str, str]) -> None:
    """Pack names that no well-meant program would write."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                info = zipfile.ZipInfo("x")
                info.filename = name
                archive.writestr(info, content)
        return
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content.encode()))


def everything(folder: Path, *, apart_from: Path) -> dict[str, int]:
    """All that lies in a folder, with its sizes."""
    return {
        str(path): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(apart_from)
    }


def test_names_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    """Modules that are one file on other systems have to be renamed; data is left out."""
    files = {"tests/adapters.py": STUBS + "import statistics_basics", MODULE: ""}
    data = {"statistics_basics/A.json": "1", "statistics_basics/a.json": "2"}
    found = staged(pack(tmp_path / "data.zip", {**files, **data}))
    assert found.notes == (
        "Left out (differs from another only in case): statistics_basics/a.json.",
    )
    for twins in (["tests/Model.py", "tests/model.py"], ["tests/B/x.py", "tests/b/__init__.py"]):
        adapters = {"tests/adapters.py": STUBS + "import tests.b, tests.B.x"}
        path = pack(tmp_path / "twins.zip", {**adapters, **dict.fromkeys(twins, "")})
        with pytest.raises(CouldNotJudgeError, match="differ only in case"):
            staged(path)


def test_names_that_differ_only_in_how_accents_are_written_are_refused(tmp_path: Path) -> None:
    """Which of two such modules counts is not guessed."""
    files = {"tests/adapters.py": STUBS, "tests/caf\u00e9.py": "1", "tests/cafe\u0301.py": "2"}
    with pytest.raises(CouldNotJudgeError, match=r"holds tests/caf.+ twice"):
        staged(pack_tar(tmp_path / "work.tar", files))


def test_what_systems_leave_beside_files_does_not_count(tmp_path: Path) -> None:
    """A folder that Finder or Explorer has opened is the same submission as before."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    files |= {MODULE: ""}
    left = {"tests/._adapters.py": "\0", "statistics_basics/.DS_Store": "\0"}
    one = staged(pack_tar(tmp_path / "one.tar", files))
    two = staged(pack_tar(tmp_path / "two.tar", {**files, **left}))
    assert (one.sha256, one.notes) == (two.sha256, two.notes)


@pytest.mark.skipif(not folders.BY_DESCRIPTOR, reason="opens by path alone")
def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    """Between listing and reading, a folder is swapped for a link to another."""
    secret = write(tmp_path / "secret", {"model.py": "answer = 42"})
    work = write(tmp_path / "work", {"package/model.py": "", "tests/adapters.py": STUBS})
    source = folders.FolderSource(work, "work", Notes())
    shutil.rmtree(work / "package")
    (work / "package").symlink_to(secret)
    path = next(path for path in source.sizes if path.name == "model.py")
    with pytest.raises(CouldNotJudgeError, match="cannot be read"):
        source.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_file_that_becomes_a_pipe_or_grows_is_not_waited_for(tmp_path: Path) -> None:
    """What was a small file when it was listed is read as such, or not at all."""
    work = write(tmp_path / "work", {"model.py": "", "data.bin": "", "tests/adapters.py": STUBS})
    source = folders.FolderSource(work, "work", Notes())
    (work / "model.py").unlink()
    os.mkfifo(work / "model.py")
    os.truncate(work / "data.bin", 2**40)
    for name in ("model.py", "data.bin"):
        path = next(path for path in source.sizes if path.name == name)
        with pytest.raises(CouldNotJudgeError, match=r"regular file|larger than"):
            source.read(path)


def test_hard_links_are_named_and_copied(tmp_path: Path) -> None:
    """A file with another name outside is content like any other, and the report says so."""
    work = write(tmp_path / "work", {"tests/adapters.py": STUBS, "tests/inner.py": "x = 1"})
    outside = write(tmp_path / "outside", {"model.py": "x = 2"})
    os.link(work / "tests/inner.py", work / "tests/again.py")
    os.link(outside / "model.py", work / "tests/model.py")
    found = staged(work)
    assert found.notes == ("Hard links to files that lie elsewhere too: tests/model.py.",)
    assert (found.root / "tests/model.py").stat().st_nlink == 1


def test_a_copy_has_no_privilege(tmp_path: Path) -> None:
    """Bits that let a program run as somebody else are not copied."""
    work = write(tmp_path / "work", {"tests/adapters.py": STUBS})
    (work / "tests/adapters.py").chmod(0o6777)
    mode = (staged(work).root / "tests/adapters.py").stat().st_mode
    assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH | 0o111)


def test_a_folder_that_cannot_be_read_is_not_the_submissions_fault(tmp_path: Path) -> None:
    """What may be in it is not known."""
    work = write(tmp_path / "work", {"tests/adapters.py": STUBS, "closed/x.py": ""})
    (work / "closed").chmod(0)
    if os.access(work / "closed", os.R_OK):
        pytest.skip("this user can read every folder")
    with pytest.raises(CouldNotJudgeError, match="closed in work cannot be read"):
        staged(work)
