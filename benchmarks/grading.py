"""Who uses the time of one cold ``cs336 grade`` of the reference."""

import json
import subprocess
import sys
from statistics import median

from benchmarks.report import grid, seconds


def profile(rounds: int) -> str:
    """Medians of what graded.py finds, as a table of who used what."""
    found = [accounts() for _ in range(rounds)]
    used = {name: median(each[name] for each in found) for name in found[0]}
    judge = used["judge"] - used["torch"] - used["reference"] - used["checks"]
    workers = used["workers"] - used["student"] - used["border"] - used["forks"]
    ours = {
        "the command: imports, reports, what is printed": used["launcher"],
        "judge: the checks' own work, from inputs to comparisons": used["checks"],
        "judge: the same with the reference, for what is expected": used["reference"],
        "judge: the rest, imports and pytest": judge,
        "workers: a fork for each check": used["forks"],
        "workers: values in and out": used["border"],
        "workers: the rest, isolation and the end of each": workers,
    }
    rows = {
        "the student's code, called by the checks": used["student"],
        "torch, imported once": used["torch"],
        "**ours, in all** (at most 3 s)": sum(ours.values()),
        **ours,
    }
    return grid(("whose", "CPU"), [(name, seconds(spent)) for name, spent in rows.items()])


def accounts() -> dict[str, float]:
    """What one grading used."""
    command = [sys.executable, "-m", "benchmarks.graded"]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: dict[str, float] = json.loads(ended.stdout)
    return found
