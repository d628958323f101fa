"""What a submission lacks is named, and whose fault that is is told apart."""

import json
import sys
from pathlib import Path, PurePosixPath

import pytest

from cs336_grader.intake import NothingToGradeError, installed, inventory, names, stage
from cs336_grader.records import CouldNotJudgeError, Staged, WrongRequestError
from grader_tests.unit.submissions import ADAPTERS, NAMES, PACKAGE, STUBS, pack, write

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"
CONFLICT = "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n"
NEWER_PYTHON = '[project]\nname = "mine"\nrequires-python = ">=99"\n'
BROKEN = STUBS + "\nx = (\n"
OWN = "statistics_basics/__init__.py"
COMPILED = "statistics_basics/fast.cpython-311-x86_64-linux-gnu.so"


def staged(
    tmp_path: Path, files: dict[str, str | bytes], adapters: str | None = None, python: str = ""
) -> Staged:
    """Stage a submission of these files."""
    into = tmp_path / "staged"
    into.mkdir()
    chosen = None if adapters is None else PurePosixPath(adapters)
    folder = write(tmp_path / "submission", files)
    return stage(folder, NAMES, into, package=PACKAGE, adapters=chosen, python=python)


FAULTS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "empty": ({}, "nor any other file"),
    "other case": ({"tests/Adapters.py": STUBS}, r"tests/Adapters\.py is spelled differently"),
    "UTF-16": ({"tests/adapters.py": STUBS.encode("utf-16")}, "is in UTF-16"),
    "conflict": ({"tests/adapters.py": STUBS + CONFLICT}, "line 11: a merge conflict"),
    "syntax": ({"tests/adapters.py": BROKEN}, r"tests/adapters\.py is no valid Python: line 12"),
    "endless name": ({"tests/adapters.py": STUBS + "import a" + ".a" * 9000}, "5,000 parts"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_what_the_student_can_mend_is_the_students_fault(tmp_path: Path, kind: str) -> None:
    """Nothing of it runs on any machine, and the message says what to mend."""
    files, reason = FAULTS[kind]
    (tmp_path / "submission").mkdir()
    with pytest.raises(NothingToGradeError, match=reason):
        staged(tmp_path, files)


NOT_JUDGED: dict[str, tuple[dict[str, str | bytes], str]] = {
    "LFS pointer": ({"tests/adapters.py": LFS}, r"tests/adapters\.py is a Git LFS pointer"),
    "LFS pointer beside": (
        {"tests/adapters.py": STUBS, "tests/model.py": LFS},
        r"tests/model\.py is a Git LFS pointer",
    ),
    "archive within": (
        {"work.tar.gz": b"\x1f\x8b"},
        r"archives within it.*work\.tar\.gz\. .*cs336 batch$",
    ),
    "newer Python": (
        {"tests/adapters.py": BROKEN, "pyproject.toml": NEWER_PYTHON},
        r"asks for Python >=99 \(pyproject\.toml\): start cs336 with Python >=99: "
        r"uv run --python '>=99' cs336 grade \.\.\.$",
    ),
    "newer Python imported": (
        {"tests/adapters.py": STUBS + "import x", "x.py": "(", "pyproject.toml": NEWER_PYTHON},
        r"x\.py is no valid Python 3\.\S+ \(",
    ),
    "too large": ({"tests/adapters.py": STUBS + "#" * 2**18}, "larger than 256 KB"),
}


@pytest.mark.parametrize("kind", NOT_JUDGED)
def test_what_is_not_known_is_nobodys_fault(tmp_path: Path, kind: str) -> None:
    """Where the work may be right and cannot be seen or run here, it is not judged."""
    files, reason = NOT_JUDGED[kind]
    with pytest.raises(CouldNotJudgeError, match=reason):
        staged(tmp_path, files)


def test_a_broken_module_is_named_if_it_is_imported(tmp_path: Path) -> None:
    """Also over several imports; a broken script that nobody imports is of no interest."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": ADAPTERS,
            OWN: "",
            "statistics_basics/averages.py": "from .deep import widths",
            "statistics_basics/deep/__init__.py": "",
            "statistics_basics/deep/widths.py": CONFLICT,
            "statistics_basics/script.py": CONFLICT,
            "pyproject.toml": '[project]\nname = "mine"\n',
        },
    )
    assert found.notes == (
        "It imports modules that are no valid Python: statistics_basics/deep/widths.py "
        "(line 1: a merge conflict is not resolved).",
    )


def test_a_script_for_a_newer_python_does_not_matter(tmp_path: Path) -> None:
    """A submission that asks for another Python is graded if all that is imported can be parsed."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": STUBS + "import statistics_basics",
            OWN: "",
            "statistics_basics/script.py": "(",
            "pyproject.toml": NEWER_PYTHON,
        },
    )
    assert len(found.notes) == 1


def test_an_imported_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    """With whether the submission declares it; what it only declares comes after."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": STUBS + "import not_there, nor_this.part, torch, os, einops",
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["not-there", "other"]\n',
        },
    )
    assert found.notes == (
        "It imports packages that are not installed here: nor_this, not_there (declared).",
        "It declares packages that are not installed here: other.",
    )


def test_a_missing_package_of_its_own_is_named(tmp_path: Path) -> None:
    """The assignment's package is nothing to install."""
    found = staged(tmp_path, {"tests/adapters.py": ADAPTERS})
    assert found.notes == (
        "It imports statistics_basics, and has no package or module of that name.",
    )


@pytest.mark.parametrize("beside", [COMPILED, "statistics_basics/fast.pyx"])
@pytest.mark.parametrize("text", ["from . import fast", "from .fast import run", "import tests"])
def test_an_extension_that_is_not_built_is_named(tmp_path: Path, text: str, beside: str) -> None:
    """If it is imported; a stub in its place lets the worker tell it from a forgotten module."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    found = staged(tmp_path, {**files, OWN: text, beside: b"x"})
    note = (
        "It imports compiled modules of its own, which are not built here: statistics_basics/fast."
    )
    assert any(told.startswith(note) for told in found.notes) == ("fast" in text)
    assert (found.root / "statistics_basics/fast.pyi").exists() == ("fast" in text)


@pytest.mark.parametrize(
    "text", ["from statistics_basics.averages import average", "import averages"]
)
def test_another_case_is_named(tmp_path: Path, text: str) -> None:
    """The name of a file that was changed only in case is not known to git on every system."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + text, OWN: ""}
    found = staged(
        tmp_path, {**files, "statistics_basics/Averages.py": "", "tests/Averages.py": ""}
    )
    where = "statistics_basics" if "from" in text else "tests"
    assert found.notes[-1] == (
        "It imports modules by names that differ in case from their files: "
        f"averages ({where}/Averages.py)."
    )


def test_a_class_named_like_its_file_is_no_other_case(tmp_path: Path) -> None:
    """`from package import Linear` may name what a package binds."""
    found = staged(
        tmp_path,
        {
            "tests/adapters.py": STUBS + "from statistics_basics import Linear",
            OWN: "from .linear import Linear",
            "statistics_basics/linear.py": "class Linear: pass",
        },
    )
    assert found.notes == ()


def test_the_adapters_can_be_chosen(tmp_path: Path) -> None:
    """Whatever their name, and though another file has more filled in."""
    files: dict[str, str | bytes] = {"a/adapters.py": ADAPTERS, "b/mine.py": STUBS}
    files["statistics_basics/averages.py"] = ""
    found = staged(tmp_path, files, "b/mine.py")
    assert found.module == "b.mine"
    assert found.notes == ()


def test_where_nothing_is_found_what_was_left_out_is_named(tmp_path: Path) -> None:
    """Adapters behind a link are not found, and the reason is in the one sentence there is."""
    work = write(tmp_path / "work", {"a/adapters.py": STUBS})
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "tests").symlink_to(work / "a")
    with pytest.raises(NothingToGradeError, match=r"Left out \(links are not followed\): tests"):
        staged(tmp_path, {})


@pytest.mark.parametrize("chosen", ["b/adapters.py", "../adapters.py", "notes.txt", "tests"])
def test_a_choice_that_is_not_there_is_whoevers_who_chose(tmp_path: Path, chosen: str) -> None:
    """The submission is not to blame; what there is to choose is named."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS, "notes.txt": ""}
    reason = rf"has no Python file {chosen}: --adapters .*; there is tests/adapters\.py"
    with pytest.raises(WrongRequestError, match=reason):
        staged(tmp_path, files, chosen)


def test_a_choice_without_adapters_is_whoevers_who_chose(tmp_path: Path) -> None:
    """The adapters may lie elsewhere."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS, "tests/conftest.py": "x = 1"}
    reason = r"tests/conftest\.py defines none of the 3 adapters.* Name another file"
    with pytest.raises(WrongRequestError, match=reason):
        staged(tmp_path, files, "tests/conftest.py")


def another(tmp_path: Path, *distributions: str, version: str | None = None) -> str:
    """A program that tells of itself what an interpreter with these distributions would."""
    found = inventory.inventory()
    modules = {
        **dict.fromkeys(sys.stdlib_module_names, ()),
        **{one: [one] for one in distributions},
    }
    others = {"distributions": dict.fromkeys(distributions, "1.0"), "modules": modules, "path": []}
    answer = json.dumps(found | others | {"version": version or found["version"]})
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n")
    program.chmod(0o755)
    return str(program)


needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="Windows runs no shell scripts")


@needs_sh
def test_what_is_installed_is_asked_of_the_interpreter_that_runs_it(tmp_path: Path) -> None:
    """Another has other packages."""
    files: dict[str, str | bytes] = {
        "tests/adapters.py": STUBS + "import hypothesis, loguru",
        "requirements.txt": "numpy\nrich\n",
    }
    found = staged(tmp_path, files, python=another(tmp_path, "loguru", "rich"))
    assert found.notes == (
        "It imports packages that are not installed here: hypothesis.",
        "It declares packages that are not installed here: numpy.",
    )
    assert found.unmet.keys() == {"numpy"}


@needs_sh
def test_the_version_is_that_of_the_interpreter_that_runs_it(tmp_path: Path) -> None:
    """The project may have asked for just that."""
    project = '[project]\nname = "mine"\nrequires-python = ">=99"'
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS, "pyproject.toml": project}
    assert staged(tmp_path, files, python=another(tmp_path, version="99.1.0")).notes == ()


@needs_sh
@pytest.mark.parametrize("broken", ["tests/adapters.py", "tests/model.py"])
def test_what_another_python_may_read_is_nobodys_fault(tmp_path: Path, broken: str) -> None:
    """This one cannot find what it imports, and the other may take it."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import model", broken: BROKEN}
    with pytest.raises(
        CouldNotJudgeError, match=r"is to run in 99\.1\.0: .* uv run --python 99\.1 cs336"
    ):
        staged(tmp_path, files, python=another(tmp_path, version="99.1.0"))


@pytest.mark.parametrize("content", ["", "#!/bin/sh\nexit 1\n", "#!/bin/sh\necho 3.12\n"])
def test_what_is_no_interpreter_is_named(tmp_path: Path, content: str) -> None:
    """Before anything is graded."""
    program = tmp_path / "python"
    program.write_text(content)
    program.chmod(0o755)
    with pytest.raises(WrongRequestError, match="python is no Python that runs a submission"):
        staged(tmp_path, {"tests/adapters.py": STUBS}, python=str(program))


@pytest.mark.parametrize("chosen", ["torch.py", "random.py"])
def test_adapters_that_hide_something_could_not_be_judged(tmp_path: Path, chosen: str) -> None:
    """Importing them would bring what is installed under that name."""
    with pytest.raises(CouldNotJudgeError, match="has the name of something installed"):
        staged(tmp_path, {chosen: STUBS}, chosen)


def test_what_the_grader_does_not_need_can_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two machines, one may have a package installed that is called as the student's module."""
    monkeypatch.setattr(installed, "needed_distributions", lambda: ["bystander", "numpy"])
    assert installed.is_needed("torch") is False
    monkeypatch.undo()
    assert installed.is_needed("torch")
    assert installed.is_needed("_pytest")
    assert not installed.is_needed("tokenizer")
    found = staged(
        tmp_path, {"tests/adapters.py": STUBS + "import hypothesis", "hypothesis.py": ""}
    )
    assert (found.root / "hypothesis.py").exists()


def test_package_relative_modules_may_have_any_name(tmp_path: Path) -> None:
    """`from .random import x` hides nothing."""
    names = ("random", "torch", "types", "tokenize", "utils", "cs336_grader")
    files: dict[str, str | bytes] = {f"statistics_basics/{name}.py": "" for name in names}
    imported = "\n".join(f"from .{name} import x" for name in names)
    files |= {"tests/adapters.py": STUBS + "import statistics_basics", OWN: imported}
    found = staged(tmp_path, files)
    assert found.notes == ()
    assert all((found.root / name).exists() for name in files)


@pytest.mark.parametrize("start", [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ" + b"\0" * 90 + b"PE\0\0"])
def test_machine_code_is_left_out_whatever_its_name(tmp_path: Path, start: bytes) -> None:
    """A compiled module need not end in .so to be loaded."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    found = staged(tmp_path, {**files, OWN: "", "statistics_basics/table.json": start + bytes(9)})
    assert found.notes == ("Left out (compiled): statistics_basics/table.json.",)


def test_an_lfs_pointer_for_data_is_left_out(tmp_path: Path) -> None:
    """Code that reads it fails; the report says why."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    found = staged(tmp_path, {**files, OWN: "", "statistics_basics/table.json": LFS})
    assert "Git LFS pointer" in found.notes[0]


def test_hostile_source_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files made to be slow to parse take no more than a limited time together."""
    monkeypatch.setattr(names, "MAX_PARSING_SECONDS", -1)
    with pytest.raises(CouldNotJudgeError, match="takes too long to parse"):
        staged(tmp_path, {"tests/adapters.py": STUBS})


def test_remarks_are_few(tmp_path: Path) -> None:
    """A submission cannot fill a report with what intake has to say of it."""
    folders: dict[str, str | bytes] = {
        f"statistics_basics/f{number}/pyproject.toml": "[" for number in range(99)
    }
    folders |= {f"statistics_basics/f{number}/x.py": "" for number in range(99)}
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    found = staged(tmp_path, {**files, **folders, OWN: ""})
    assert found.notes[-1] == "And 69 remarks more."


def test_an_encrypted_bystander_does_not_matter(tmp_path: Path) -> None:
    """Only what is taken has to be readable."""
    path = pack(tmp_path / "work.zip", {"notes.txt": "x", "tests/adapters.py": STUBS})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    into = tmp_path / "staged"
    into.mkdir()
    assert stage(path, NAMES, into, package=PACKAGE).notes == ()
