"""The tables of docs/performance.md."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Cost

PACKAGES = ("numpy", "regex", "tiktoken", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class Row:
    """Two contenders at the same task, the first of them ours."""

    what: str
    ours: Cost
    theirs: Cost


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seconds(spent: float) -> str:
    """CPU time."""
    return f"{spent:.3f} s"


def mebibytes(held: float | None) -> str:
    """Memory, where it was measured."""
    return "" if held is None else f"{held:.1f} MiB"


def table(rows: Iterable[Row], other: str, least: float | None, most: float | None) -> str:
    """A table of CPU times; the ratio is ours to theirs, or theirs to ours where it is a speed."""
    label = "CPU" if least is None else "speed"
    asked = {f"at most {most}": most, f"at least {least}": least}
    goals = "".join(f" ({words})" for words, goal in asked.items() if goal is not None)
    rows = list(rows)
    with_memory = any(row.ours.mebibytes is not None for row in rows)
    header = ["what", "ours", other, f"{label}, ours to theirs{goals}"]
    lines = []
    for row in rows:
        ours, theirs = row.ours.seconds, row.theirs.seconds
        ratio = ours / theirs if least is None else theirs / ours
        line = [row.what, seconds(ours), seconds(theirs), f"{ratio:.2f}"]
        memory = [mebibytes(row.ours.mebibytes), mebibytes(row.theirs.mebibytes)]
        lines.append(line + memory if with_memory else line)
    return grid([*header, "memory, ours", "theirs"] if with_memory else header, lines)


def machine() -> str:
    """What it was measured on."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return (
        f"Commit {commit}; {processor()}, {os.cpu_count()} CPUs, {platform.system()}, "
        f"Python {platform.python_version()}; {versions}."
    )


def processor() -> str:
    """The processor's name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
