"""What a submission declares and does not get, and what it would build, are named as that."""

import platform
from pathlib import Path

import pytest

from grader_tests.unit.submissions import STUBS
from grader_tests.unit.test_intake_gaps import NEWER_PYTHON, OWN, staged

PYBIND = "#include <pybind11/pybind11.h>\nPYBIND11_MODULE(fast_bpe, m) { }"
PYO3 = "#[pymodule]\nfn fast_bpe(m: &Bound<PyModule>) -> PyResult<()> { Ok(()) }"
MATURIN = '[build-system]\nbuild-backend = "maturin"\n[project]\nname = "fast-bpe"\n'
OWN_BUILDS: dict[str, dict[str, str | bytes]] = {
    "pybind11": {"csrc/merges.cpp": PYBIND},
    "PyO3": {"rust/src/lib.rs": PYO3, "rust/Cargo.toml": '[package]\nname = "other"'},
    "a crate": {"fast_bpe/Cargo.toml": '[package]\nname = "fast-bpe"'},
    "maturin": {"native/pyproject.toml": MATURIN, "native/python/fast_bpe/__init__.py": ""},
    "beside Python": {"fast_bpe/pyproject.toml": MATURIN, "fast_bpe/python/fast_bpe/x.py": ""},
    "Cython": {"native/fast_bpe.pyx": "def merge(): pass"},
    "setuptools": {"setup.py": "ext_modules=[CppExtension(name='fast_bpe', sources=['a.cpp'])]"},
}


@pytest.mark.parametrize("kind", OWN_BUILDS)
def test_a_package_of_its_own_that_is_to_be_built_is_told_as_that(
    tmp_path: Path, kind: str
) -> None:
    """Not as one to install; a stub lets the worker tell it as well."""
    files = {**OWN_BUILDS[kind], "tests/adapters.py": STUBS + "from fast_bpe import merge"}
    files["pyproject.toml"] = '[project]\nname = "mine"\ndependencies = ["fast-bpe"]\n'
    found = staged(tmp_path, files)
    (note,) = found.notes
    assert note.startswith(
        "It imports compiled modules of its own, which are not built here: fast_bpe."
    )
    assert (found.root / "fast_bpe.pyi").exists()


def test_a_compiled_module_within_the_package_is_found_by_its_source(tmp_path: Path) -> None:
    """Wherever that lies."""
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS + "import statistics_basics"}
    built = {OWN: "from ._core import merge", "rust/lib.rs": PYO3.replace("fast_bpe", "_core")}
    found = staged(tmp_path, {**files, **built})
    assert "not built here: statistics_basics/_core." in found.notes[0]


ASKED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "older than declared": (
        {"pyproject.toml": '[project]\nname = "x"\ndependencies = ["numpy>=999"]'},
        {"numpy": "numpy>=999 (pyproject.toml), but "},
    ),
    "older than required": (
        {"requirements.txt": "numpy==999.1  # new\n"},
        {"numpy": "numpy==999.1 (requirements.txt), but "},
    ),
    "another series": ({"requirements.txt": "numpy<1\n"}, {"numpy": "numpy<1 (requirements"}),
    "later in the series": ({"requirements.txt": "numpy~=2.0.0\nregex>=1\n"}, {}),
    "locked": (
        {
            "requirements.txt": "numpy\n",
            "uv.lock": '[[package]]\nname = "numpy"\nversion = "999.1.2"\n',
        },
        {"numpy": "numpy==999.1.* (uv.lock), but "},
    ),
    "locked in several versions": (
        {
            "requirements.txt": "numpy\n",
            "uv.lock": '[[package]]\nname = "numpy"\nversion = "999.1.2"\n'
            '[[package]]\nname = "numpy"\nversion = "1.0"\n',
        },
        {},
    ),
    "not installed": (
        {"requirements.txt": "surely-not-there>=2\n"},
        {"surely_not_there": "surely-not-there>=2 (requirements.txt), which is not installed"},
    ),
    "for another system": ({"requirements.txt": "numpy>=999; sys_platform == 'none'\n"}, {}),
    "with markers that have no value": (
        {
            "requirements.txt": "numpy>=999; python_version ~= '3.x'\n"
            "numpy>=999; 'gpu' in extras\nsurely-not-there\n"
        },
        {"surely_not_there": "surely-not-there (requirements.txt), which is not installed"},
    ),
    "Python": (
        {"pyproject.toml": NEWER_PYTHON},
        {"Python": f"Python >=99 (pyproject.toml), but {platform.python_version()} runs it"},
    ),
    "pinned Python": (
        {".python-version": "# mine\n"},
        {},
    ),
    "a later pinned Python": (
        {".python-version": "3.99.1\n", "pyproject.toml": '[project]\nrequires-python = ">=3.9"'},
        {"Python": "Python >=3.99 (.python-version), but "},
    ),
    "an earlier pinned Python": ({".python-version": "cpython-3.10\n"}, {}),
}


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_asked_for_and_not_to_be_had_is_known(tmp_path: Path, kind: str) -> None:
    """By the name that imports use; a later version of a series has what an earlier one had."""
    declared, unmet = ASKED[kind]
    found = staged(tmp_path, {"tests/adapters.py": STUBS, **declared})
    assert found.unmet.keys() == unmet.keys()
    assert all(found.unmet[name].startswith(told) for name, told in unmet.items())
    assert bool(found.notes) == bool(unmet)
