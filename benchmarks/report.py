"""The tables of docs/performance.md."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
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


def table(rows: Iterable[Row], other: str, least: float | None, most: float | None) -> str:
    """A table of CPU times; the ratio is ours to theirs, or theirs to ours where it is a speed."""
    asked = f"at most {most:g}" if most is not None else f"at least {least:g}"
    label = "CPU" if most is not None else "speed"
    lines = [
        f"| what | ours | {other} | {label}, ours to theirs ({asked}) | memory, ours and theirs |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row.ours.seconds, row.theirs.seconds
        ratio = ours / theirs if most is not None else theirs / ours
        held = (row.ours.mebibytes, row.theirs.mebibytes)
        memory = "" if None in held else f"{held[0]:.0f} and {held[1]:.0f} MiB"
        lines.append(f"| {row.what} | {ours:.3f} s | {theirs:.3f} s | {ratio:.2f} | {memory} |")
    return "\n".join(lines)


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
