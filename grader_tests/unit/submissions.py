"""Writes small submissions of the tiny assignment."""

import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

NAMES = frozenset({"run_count_words", "run_moving_average", "run_running_totals"})
PACKAGE = "statistics_basics"

ADAPTERS = """
from statistics_basics.averages import average

def run_moving_average(values, width):
    return average(values, width)

def run_count_words(text):
    return {}
"""
STUBS = """
def run_moving_average(values, width):
    '''Return the averages.'''
    raise NotImplementedError

def run_count_words(text):
    raise NotImplementedError("not yet")

def run_running_totals(numbers):
    pass
"""
# The averages of a constant are not that constant, words differ by case, totals are right.
HALF_RIGHT = """
from statistics_mine import helpers

def run_moving_average(values, width):
    return [sum(values[i : i + width]) / (width + 1) for i in range(len(values) - width + 1)]

def run_count_words(text):
    return helpers.count(text.split())

def run_running_totals(numbers):
    total = 0
    for number in numbers:
        total += number
        yield total
"""
HELPERS = """
def count(words):
    return {word: words.count(word) for word in words}
"""
HALF_RIGHT_FILES: dict[str, str | bytes] = {
    "assignment/src/statistics_mine/helpers.py": HELPERS,
    "assignment/tests/adapters.py": HALF_RIGHT,
}


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def pack(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a zip archive, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def pack_tar(path: Path, files: Mapping[str, str | bytes], *, above: str = "") -> Path:
    """Write files into a tar archive, compressed if its name says so, and return its path."""
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(above + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def git(folder: Path, *words: str) -> str:
    """Run git in a folder with no configuration of the machine, and return what it prints."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_NAME": "a" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "a@example.org" for role in ("AUTHOR", "COMMITTER")},
    }
    command = ["git", "-c", "core.autocrlf=false", *words]
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def commit(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a repository, made if there is none, commit them, and return it."""
    write(folder, files)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=x")
    return folder
