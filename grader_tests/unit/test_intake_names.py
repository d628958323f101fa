"""Right work is taken from whatever folders it is packed in, or it is not judged."""

import io
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cs336_grader.intake import safe_paths, stage
from cs336_grader.intake.listing import IGNORED_FOLDERS
from cs336_grader.records import CouldNotJudgeError, Staged
from grader_tests.unit.submissions import ADAPTERS, NAMES, PACKAGE

WORK = {
    "tests/adapters.py": ADAPTERS,
    "statistics_basics/__init__.py": "",
    "statistics_basics/averages.py": "def average(values, width):\n    return []\n",
}
PACKERS = ("zip", "tar", "folder")
# Names that a file system of Linux, macOS or Windows can hold, and that another cannot, or that a
# program which packs or unpacks writes.
ODD_NAMES = [
    *("2026-01-02 10:30:00", "Re: work", "a\\b", "C:", "work.", "work ", "work. .", " work", "..."),
    *("what?", "a*b", "a|b", "<a>", 'say "hi"', "CON", "nul", "com1.txt", "LPT9", "aux.py", "a\tb"),
    *("a\nb", "a\x7fb", "\u202ework", "\u200f", "a\u200db", "\ufeffwork", "Jose\u0301", "Jos\xe9"),
    *("\udcff\udcfe", "\U0001f600", "\u8bfe\u7a0b" * 40, "x" * 255, "-rf", "~", "$HOME", "%TEMP%"),
    *("work.py", "adapters.py", "tests", "torch", "class", "work.zip", "100%", "a;b", "a=b", "#1"),
    *(".work", "__init__", "\u2028", "\x85", "\ue000", "\ufdd0"),
]
folder_names = st.sampled_from(ODD_NAMES) | st.text(
    st.characters(exclude_characters="/\0"), min_size=1, max_size=12
).filter(
    lambda name: (
        name not in {".", "..", *IGNORED_FOLDERS} and len(name.encode(errors="replace")) < 255
    )
)
# What only archives hold: a way up, a root, a drive, a name of no folder, zeros, endless names.
archive_names = folder_names | st.sampled_from(
    ["..", ".", "", "/", "C:/", "\\\\server", "a\0b", "\0", "y" * 300, "\u8bfe" * 255, "z/" * 40]
)


def packed(folder: Path, kind: str, files: Mapping[str, str]) -> Path:
    """Files in a container, under exactly the names that are given."""
    path = folder / f"submission.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                info = zipfile.ZipInfo("x")
                info.filename = info.orig_filename = name
                archive.writestr(info, content)
    elif kind == "tar":
        with tarfile.open(path, "w", errors="surrogateescape") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
    else:
        for name, content in files.items():
            if name.startswith("/") or ".." in name.split("/"):
                raise OSError("no name within a folder")
            file = os.path.join(os.fsencode(path), os.fsencode(name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            Path(os.fsdecode(file)).write_text(content, encoding="utf-8")
    return path


def staged(kind: str, files: Mapping[str, str]) -> Staged | None:
    """What is taken of these files; None where they cannot be judged."""
    with tempfile.TemporaryDirectory() as made:
        into = Path(made, "staged")
        into.mkdir()
        try:
            path = packed(Path(made), kind, files)
        except (ValueError, OSError):
            return None  # There can be no such container.
        try:
            found = stage(path, NAMES, into, package=PACKAGE)
        except CouldNotJudgeError as error:
            assert str(error)  # noqa: PT017 (whether it is raised is not what is asked)
            return None
        assert_all_is_there(found)
        return found


def assert_all_is_there(found: Staged) -> None:
    """The work can be imported by the names it has."""
    roots = [found.root / place for place in found.search_paths]
    for name, content in WORK.items():
        if name != "tests/adapters.py":
            assert any(
                (root / name).read_text() == content for root in roots if (root / name).exists()
            )
    adapters = found.module.replace(".", "/") + ".py"
    assert any((root / adapters).exists() for root in roots)


def below(above: str, beside: str = "") -> dict[str, str]:
    """The work in a folder, and a stray file beside it."""
    files = {f"{above}/{name}": content for name, content in WORK.items()}
    return {**files, f"{above}/{beside}": "x = 1"} if beside else files


@pytest.mark.skipif(sys.platform == "win32", reason="such folders cannot be made")
@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", [name for name in ODD_NAMES if name != ".work"])
def test_a_name_that_a_system_can_hold_hides_no_work(kind: str, name: str) -> None:
    """Above the package and beside it, the work is taken, under names that every system holds."""
    found = staged(kind, below(name, "notes"))
    if found is None:
        # Only where such a container cannot be written.
        assert kind == "zip"
        assert "\udcff" in name
    for files in (below("work", name), below(f"a/{name}/b", f"{name}.txt")):
        staged(kind, files)


@settings(max_examples=150, deadline=None)
@given(st.lists(archive_names, min_size=1, max_size=4), archive_names, st.sampled_from(PACKERS))
@example(["../a"], "", "zip")
@example(["/var/ada"], "", "tar")
@example([".work"], "", "folder")
def test_work_is_taken_or_not_judged(above: list[str], beside: str, kind: str) -> None:
    """Whatever folders a right submission lies in, and whatever lies beside it."""
    staged(kind, below("/".join(above), beside))


@pytest.mark.parametrize("kind", ["zip", "tar"])
@pytest.mark.parametrize("lost", sorted(WORK))
@pytest.mark.parametrize("place", ["../{}", "w/" * 40 + "{}", "v" * 300 + "/{}"])
def test_a_part_of_the_work_that_cannot_be_taken_is_not_judged(
    kind: str, lost: str, place: str
) -> None:
    """A module that is imported is not missed for where it lay in the archive."""
    files = {(place.format(name) if name == lost else name): text for name, text in WORK.items()}
    if lost.endswith("__init__.py"):
        assert staged(kind, files) is not None
    else:
        assert staged(kind, files) is None


@pytest.mark.parametrize("kind", PACKERS)
def test_work_in_a_hidden_folder_is_not_judged(kind: str) -> None:
    """It is no zero; a hidden folder beside the work is of no matter."""
    assert staged(kind, below("a/.work")) is None
    assert staged(kind, {**below("a/.work"), "a/.DS_Store": "", "__MACOSX/x": ""}) is None
    assert staged(kind, {**below("a/.work"), "a/notes.txt": ""}) is None
    assert staged(kind, {**WORK, **below(".old")}) is not None


def test_what_leads_out_is_left_out_and_told() -> None:
    """The rest is judged."""
    found = staged("zip", {**WORK, "../../evil.py": "x = 1"})
    assert found is not None
    assert "Left out (the name leads out of the submission): ../../evil.py." in found.notes


@pytest.mark.parametrize("device", ["CON", "nul.txt", "aux.py", "COM1", "lpt\xb2.tar"])
def test_windows_has_no_files_of_some_names(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are replaced there; elsewhere a module may be called so."""
    assert safe_paths.safe_name(device) == device
    monkeypatch.setattr(sys, "platform", "win32")
    stem, dot, ending = device.partition(".")
    assert safe_paths.safe_name(device) == f"{stem}_{dot}{ending}"
    assert safe_paths.safe_name(f"x{device}") == f"x{device}"
