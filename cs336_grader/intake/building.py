"""Finds the compiled modules that a submission would build, by the files they are built from."""

import contextlib
import re
from pathlib import PurePosixPath

from cs336_grader.parsing import MAX_SOURCE_BYTES
from cs336_grader.records import CouldNotJudgeError

from .modules import RECIPES
from .sources import Source

MAX_FILES = 200
SOURCES = {".c", ".cc", ".cpp", ".cu", ".cxx", ".rs"}
CYTHON = ".pyx"
# pybind11, nanobind, Boost and plain C; PyO3; setuptools with PyTorch's kinds; CMake; Meson.
DEFINED = re.compile(
    r"\b(?:PYBIND11_MODULE|NB_MODULE|BOOST_PYTHON_MODULE)\(\s*(\w+)"
    r"|\bPyInit_(\w+)"
    r"|#\[pymodule[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:fn|mod)\s+(\w+)"
    r"|\bpyo3\(\s*name\s*=\s*\"(\w+)\""
    r"|Extension\(\s*(?:name\s*=\s*)?[\"']([\w.]+)"
    r"|\b(?:pybind11|nanobind)_add_module\(\s*(\w+)"
    r"|\.extension_module\(\s*[\"'](\w+)"
    r"|^module-name\s*=\s*\"([\w.]+)\"",
    re.MULTILINE,
)
CRATE = re.compile(r"^name\s*=\s*\"([\w-]+)\"", re.MULTILINE)
BUILDS = re.compile(
    r"^build-backend\s*=\s*\"(?:maturin|scikit_build|mesonpy|setuptools_rust)", re.M
)


def modules_to_build(source: Source) -> frozenset[str]:
    """The last names of the compiled modules whose sources a submission has."""
    paths = [path for path in source.sizes if path.name in RECIPES or path.suffix in SOURCES]
    found = {path.stem for path in source.sizes if path.suffix == CYTHON}
    for path in sorted(paths)[:MAX_FILES]:
        if source.sizes[path] <= MAX_SOURCE_BYTES:
            # A file that cannot be read is reported when it is taken.
            with contextlib.suppress(CouldNotJudgeError):
                found |= modules_in(path, source.read(path).decode("utf-8", "replace"))
    return frozenset(found)


def modules_in(path: PurePosixPath, text: str) -> set[str]:
    """The compiled modules that one file defines or names."""
    found = {name for names in DEFINED.findall(text) for name in names if name}
    if path.name == "Cargo.toml" or BUILDS.search(text):
        found |= {name.replace("-", "_") for name in CRATE.findall(text)}
    return {name.rpartition(".")[2] for name in found}
