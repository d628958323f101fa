"""Writes small submissions of the tiny assignment."""

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
