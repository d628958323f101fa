"""Intake finds the adapters wherever they lie, and takes what they import and nothing else."""

import os
from pathlib import Path, PurePosixPath

import pytest

from cs336_grader.intake import NothingToGradeError, own_adapters, stage
from cs336_grader.records import Staged, WrongRequestError
from grader_tests.unit.submissions import ADAPTERS, NAMES, PACKAGE, STUBS, pack, write

MODULE = "def average(values, width):\n    return []\n"


def staged(tmp_path: Path, files: dict[str, str | bytes]) -> Staged:
    """Stage a submission of these files."""
    into = tmp_path / "staged"
    into.mkdir(parents=True)
    return stage(write(tmp_path / "submission", files), NAMES, into, package=PACKAGE)


def taken(found: Staged) -> set[str]:
    """The files that were taken, without what intake adds."""
    paths = (path.relative_to(found.root) for path in found.root.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in paths
        if not path.parts[-2:-1] or not path.parts[-2].endswith(".dist-info")
    }


LAYOUTS = {
    "at the top": ("", "tests/", "tests.adapters"),
    "adapters without a folder": ("", "", "adapters"),
    "nested": ("assignment1-basics/", "assignment1-basics/tests/", "tests.adapters"),
    "in src": ("src/", "tests/", "tests.adapters"),
    "nested in src": ("a1/src/", "a1/tests/", "tests.adapters"),
    "in the package": ("", "statistics_basics/", "statistics_basics.adapters"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path: Path, layout: str) -> None:
    """Package and adapters are found wherever they lie, and imported as they expect."""
    above, beside, module = LAYOUTS[layout]
    files: dict[str, str | bytes] = {
        f"{beside}adapters.py": ADAPTERS,
        f"{above}statistics_basics/__init__.py": "",
        f"{above}statistics_basics/averages.py": MODULE,
        "assignment2/other.py": "",
        "notebook.ipynb": "{}",
    }
    found = staged(tmp_path, files)
    assert found.module == module
    assert (above.rstrip("/") or ".") in found.search_paths
    expected = {
        f"{beside}adapters.py",
        f"{above}statistics_basics/__init__.py",
        f"{above}statistics_basics/averages.py",
    }
    assert taken(found) >= expected
    assert not {"assignment2/other.py", "notebook.ipynb"} & taken(found)


def test_imports_are_followed(tmp_path: Path) -> None:
    """What the taken modules import is taken as well: relative, absolute, in functions, by name."""
    found = staged(
        tmp_path,
        {
            "tests/__init__.py": "",
            "tests/adapters.py": ADAPTERS + "\nfrom .common import x\nimport extra.deep\n",
            "tests/common.py": "def f():\n    import lazily\n",
            "tests/test_sums.py": "",
            "tests/conftest.py": "raise SystemExit",
            "tests/_snapshots/a.npz": b"",
            "statistics_basics/averages.py": "import importlib\nimportlib.import_module('named')\n",
            "statistics_basics/data/table.json": "[]",
            "lazily.py": "from tests.common import x",
            "named/__init__.py": "",
            "extra/deep.py": "from statistics_basics import averages",
            "unrelated/__init__.py": "",
            "setup.py": "raise SystemExit",
        },
    )
    assert taken(found) == {
        "tests/__init__.py",
        "tests/adapters.py",
        "tests/common.py",
        "statistics_basics/__init__.py",
        "statistics_basics/averages.py",
        "statistics_basics/data/table.json",
        "lazily.py",
        "named/__init__.py",
        "extra/__init__.py",
        "extra/deep.py",
    }


def test_a_namespace_package_is_followed_to_the_part_that_is_named(tmp_path: Path) -> None:
    """`from src.package import x` takes that package, not all of src."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": ADAPTERS.replace("statistics_basics", "src.mine"),
            "src/mine/averages.py": MODULE,
            "src/other/huge.py": "",
        },
    )
    assert "src/mine/averages.py" in taken(found)
    assert "src/other/huge.py" not in taken(found)


def test_modules_beside_the_adapters_can_be_imported_by_their_bare_name(tmp_path: Path) -> None:
    """The adapters' folder is searched where an import needs it."""
    found = staged(
        tmp_path,
        {"tests/adapters.py": ADAPTERS + "import common", "tests/common.py": ""},
    )
    assert found.search_paths == (".", "tests")


def test_a_folder_on_a_path_of_the_students_own_is_taken(tmp_path: Path) -> None:
    """A module in a folder that the code adds to sys.path comes along."""
    adapters = "import sys\nsys.path.append('lib')\nfrom helper import f\n" + STUBS
    found = staged(tmp_path, {"tests/adapters.py": adapters, "lib/helper.py": ""})
    assert "lib/helper.py" in taken(found)


def test_the_best_candidate_is_taken(tmp_path: Path) -> None:
    """Most adapters filled in first, then least deep; the others are noted."""
    names = ("run_moving_average", "run_count_words", "run_running_totals")
    full = "".join(f"def {name}(_): return []\n" for name in names)
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": STUBS,
            "old/tests/adapters.py": full,
            "older/deep/tests/adapters.py": full,
            "part/adapters.py": ADAPTERS,
            "unrelated/adapters.py": "class HttpAdapter: pass",
        },
    )
    assert found.search_paths == ("old",)
    (note,) = found.notes
    assert note.startswith("Graded old/tests/adapters.py")
    assert "tests/adapters.py" in note
    assert "unrelated" not in note


def test_several_submissions_are_told_from_one(tmp_path: Path) -> None:
    """Whoever grades a class as one submission is told what grades each."""
    told = "each folder as a submission of its own: cs336 batch"
    folders = {f"{name}/tests/adapters.py": ADAPTERS for name in ("ada", "grace")}
    assert staged(tmp_path / "class", dict(folders)).notes[0].endswith(told)
    found = staged(tmp_path / "one", {**folders, "tests/adapters.py": STUBS})
    assert found.notes[0].startswith("Graded ada/tests/adapters.py")
    assert told not in found.notes[0]


ONE = {
    "in the folder of the suite": "tests/adapters.py",
    "at the top": "adapters.py",
    "in the package": "statistics_basics/adapters.py",
}


@pytest.mark.parametrize("place", ONE.values(), ids=ONE)
def test_a_folder_that_is_one_submission(tmp_path: Path, place: str) -> None:
    """By its own adapters, unless more is filled in in a folder of another name."""
    write(tmp_path, {place: STUBS})
    assert own_adapters(tmp_path, NAMES, PACKAGE) == PurePosixPath(place)
    write(tmp_path, {"ada/adapters.py": ADAPTERS})
    assert own_adapters(tmp_path, NAMES, PACKAGE) is None


@pytest.mark.parametrize("file", ["ada/adapters.py", "ada/tests/adapters.py", "ada.zip", "x.txt"])
def test_a_folder_that_is_none(tmp_path: Path, file: str) -> None:
    """It holds some, or nothing that is known."""
    write(tmp_path, {file: STUBS})
    assert own_adapters(tmp_path, NAMES, PACKAGE) is None


def test_a_copy_of_the_stubs_does_not_win_over_part_of_the_work(tmp_path: Path) -> None:
    """Stubs that were deleted do not count for less than stubs that were kept."""
    found = staged(tmp_path, {"original/adapters.py": STUBS, "tests/adapters.py": ADAPTERS})
    assert found.module == "tests.adapters"


@pytest.mark.parametrize(
    "text",
    [
        "from .impl import *\n",
        "from . import impl\n\nrun_count_words, other = impl.run_count_words, None\n",
        "from . import impl\n\nrun_count_words: object = impl.run_count_words\n",
        "class run_count_words:\n    pass\n",
        "try:\n    import fast\nexcept ImportError:\n    from .impl import run_count_words\n",
        "for run_count_words in (len,):\n    pass\n",
    ],
)
def test_adapters_need_not_be_functions_of_the_file(tmp_path: Path, text: str) -> None:
    """Any way to bind a name at the top level of the file counts."""
    files: dict[str, str | bytes] = {
        "tests/adapters.py": text,
        "tests/impl.py": "def run_count_words(text):\n    return 1\n",
    }
    assert {"tests/adapters.py", "tests/impl.py"} <= taken(staged(tmp_path, files))


def test_the_adapters_that_are_there_are_named(tmp_path: Path) -> None:
    """However they are bound: a stub, an import, an import of everything, and that one's."""
    files: dict[str, str | bytes] = {
        "tests/adapters.py": "from .impl import *\nfrom nowhere import *\nrun_other = 1\n",
        "tests/impl.py": "from mine import *\nfrom .adapters import *\n"
        "def run_count_words(text):\n    raise NotImplementedError\n",
        "mine/__init__.py": "from mine.totals import run_running_totals\n",
        "mine/totals.py": "def run_running_totals(numbers): ...\ndef run_moving_average(): ...\n",
    }
    found = staged(tmp_path, files)
    assert found.adapters & NAMES == {"run_running_totals"}
    assert found.stubs & NAMES == {"run_count_words"}


def test_no_adapters_is_the_submissions_fault(tmp_path: Path) -> None:
    """A submission without adapters is told what was looked for."""
    with pytest.raises(NothingToGradeError, match=r"no adapters\.py .* such as run_count_words"):
        staged(tmp_path, {"statistics_basics/averages.py": MODULE})


def test_empty_adapters_are_the_submissions_fault(tmp_path: Path) -> None:
    """A file of the right name without any adapter is named."""
    with pytest.raises(NothingToGradeError, match=r"tests/adapters\.py defines none of the 3"):
        staged(tmp_path, {"tests/adapters.py": "x = 1"})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def run_count_words(text):\n    return (\n", "line 2"),
        ("def run_count_words(text):\n\treturn 1\n        x\n", "line 3"),
        ("def run_count_words(): pass\n\0", "is no valid Python"),
        ("def run_count_words(): pass\nx = " + "-" * 200_000 + "1", "is no valid Python"),
    ],
)
def test_a_syntax_error_is_named_with_its_line(tmp_path: Path, source: str, reason: str) -> None:
    """Adapters that are no Python are the submission's fault, and the line is named."""
    with pytest.raises(NothingToGradeError, match=reason):
        staged(tmp_path, {"tests/adapters.py": source})


def test_stubs_do_not_hide_a_syntax_error(tmp_path: Path) -> None:
    """A broken file that was filled in is not passed over for an untouched copy."""
    broken = STUBS.replace("raise NotImplementedError\n", "return (\n")
    with pytest.raises(NothingToGradeError, match=r"mine/adapters\.py is no valid Python"):
        staged(tmp_path, {"mine/adapters.py": broken, "tests/adapters.py": STUBS})


@pytest.mark.parametrize("name", ["torch", "random", "cs336_grader", "sitecustomize"])
def test_nothing_installed_is_shadowed(tmp_path: Path, name: str) -> None:
    """A module that would be imported in place of an installed one is left out, with a note."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": ADAPTERS + f"import common\nimport {name}\n",
            "tests/common.py": "",
            f"tests/{name}.py": "",
            f"{name}/__init__.py": "",
        },
    )
    assert not {path for path in taken(found) if name in path}
    assert any(f"would hide the installed {name}" in note for note in found.notes)


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    """Only regular files are taken; what is none is noted."""
    secret = write(tmp_path / "outside", {"secret.py": "key = 1"})
    folder = write(tmp_path / "submission", {"tests/adapters.py": ADAPTERS})
    (folder / "statistics_basics").symlink_to(secret)
    (folder / "tests" / "linked.py").symlink_to(secret / "secret.py")
    into = tmp_path / "staged"
    into.mkdir()
    found = stage(folder, NAMES, into, package=PACKAGE)
    assert not {path for path in taken(found) if "secret" in path or "linked" in path}
    assert any("links are not followed" in note for note in found.notes)


def test_compiled_files_and_caches_are_dropped(tmp_path: Path) -> None:
    """What is compiled, hidden or part of an environment is not taken."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": ADAPTERS,
            "statistics_basics/averages.py": MODULE,
            "statistics_basics/fast.so": b"",
            "statistics_basics/__pycache__/averages.pyc": b"",
            "statistics_basics/.cache/x.py": "",
            "statistics_basics/env/lib/python3.12/site-packages/x.py": "",
        },
    )
    names = {path for path in taken(found) if path.startswith("statistics_basics")}
    assert names == {"statistics_basics/__init__.py", "statistics_basics/averages.py"}
    assert any("compiled" in note and "fast.so" in note for note in found.notes)


def test_the_digest_depends_on_what_is_taken(tmp_path: Path) -> None:
    """The same files give the same digest in a folder and in an archive; another byte another."""
    files: dict[str, str | bytes] = {
        "tests/adapters.py": ADAPTERS,
        "statistics_basics/averages.py": MODULE,
    }
    paths = [
        write(tmp_path / "one", {**files, "notes.txt": "x"}),
        pack(tmp_path / "two.zip", files),
        write(tmp_path / "three", {**files, "tests/adapters.py": ADAPTERS + "\n"}),
    ]
    found = []
    for path in paths:
        into = tmp_path / f"staged-{path.stem}"
        into.mkdir()
        found.append(stage(path, NAMES, into, package=PACKAGE))
    one, two, three = (each.sha256 for each in found)
    assert one == two != three
    assert [each.name for each in found] == ["one", "two", "three"]


def test_a_package_finds_its_own_version(tmp_path: Path) -> None:
    """Name and version of a project file are there for importlib.metadata, and nothing more."""
    found = staged(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "My.Project"\nversion = "1.2"\n'
            'dependencies = ["torch~=2.6", "No.Such_Thing>=0.7; python_version > \'3\'", 7]\n'
            '[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n',
            "requirements.txt": "# comment\n-r other.txt\nnor_this==0.23\n",
            "tests/adapters.py": ADAPTERS,
            "statistics_basics/averages.py": MODULE,
        },
    )
    written = {path.name for path in found.root.glob("*.dist-info")}
    assert {"my_project-1.2.dist-info", "statistics_basics-0.dist-info"} <= written
    assert (
        "It declares packages that are not installed here: no-such-thing, nor-this." in found.notes
    )


def test_a_project_file_is_data(tmp_path: Path) -> None:
    """A project named like a path or something installed leaves no file, broken TOML a note."""
    for number, text in enumerate(
        ['[project]\nname = "../evil"', '[project]\nname = "torch"', "[project", "project = 3"]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = staged(folder, {"pyproject.toml": text, "tests/adapters.py": STUBS})
        names = {path.name for path in found.root.rglob("*.dist-info")}
        assert names == {"tests-0.dist-info"}
        assert bool(found.notes) == (text == "[project")


@pytest.mark.parametrize(
    ("wanted", "noted"), [(">=3.11", False), (">=99", True), ("<3", True), ("any", False)]
)
def test_another_python_is_noted(tmp_path: Path, wanted: str, noted: bool) -> None:
    """Where the project asks for a Python that does not grade it, the report says so."""
    project = f'[project]\nname = "mine"\nrequires-python = "{wanted}"'
    found = staged(tmp_path, {"pyproject.toml": project, "tests/adapters.py": ADAPTERS})
    assert any(f"asks for Python {wanted}" in note for note in found.notes) == noted


def test_a_file_is_no_submission(tmp_path: Path) -> None:
    """Whoever names what is neither a folder nor an archive has named the wrong path."""
    (tmp_path / "thesis.pdf").write_bytes(b"%PDF")
    with pytest.raises(WrongRequestError, match="is no archive: give a folder"):
        stage(tmp_path / "thesis.pdf", NAMES, tmp_path, package=PACKAGE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Neither as a submission nor as a file of one."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WrongRequestError, match="neither a folder nor an archive"):
        stage(tmp_path / "pipe", NAMES, tmp_path, package=PACKAGE)
    folder = write(tmp_path / "submission", {"tests/adapters.py": ADAPTERS})
    os.mkfifo(folder / "adapters.py")
    into = tmp_path / "staged"
    into.mkdir()
    found = stage(folder, NAMES, into, package=PACKAGE)
    assert "Left out (not a regular file): adapters.py." in found.notes
