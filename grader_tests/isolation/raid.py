"""Lets the attacks of `raiders` and `judge_raiders` loose on this machine, and prints their loot.

Run as a program, so that it can be run as another user and where system calls are refused.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

import cs336_grader
from cs336_grader.running import (
    RunningSubmission,
    Setting,
    fork_zygote,
    forked_zygote,
    hide_memory,
    warm_up,
)
from cs336_grader.running.confinement import Confinement
from cs336_grader.running.faults import SubmissionError, WorkerLostError
from cs336_grader.running.measuring import canaries, measure
from grader_tests.alone import alone, load_of
from grader_tests.limits import limits_with

from .judge_raiders import ATTACKS

SECRET = "a-secret-of-the-environment"  # noqa: S105 (whoever reads it has read an environment)
# Two raids at a time must not take each other's daemons for their own.
DAEMON = f"cs336-d{os.getpid()}"
LIMITS = limits_with(check_seconds=20, memory_megabytes=1024)


def main() -> None:
    """Print what was measured and what each attack got."""
    # As the judge does, in whose place this process is.
    hide_memory()
    warm_up()
    with tempfile.TemporaryDirectory() as run, contextlib.ExitStack() as stack:
        staged, scratch = Path(run, "staged"), Path(run, "scratch")
        staged.mkdir()
        scratch.mkdir()
        (staged / "raids").mkdir()
        for name in ("__init__.py", "raiders.py", "judge_raiders.py"):
            shutil.copy(Path(__file__).with_name(name), staged / "raids")
        lines = (f"from raids.{name} import *\n" for name in ("raiders", "judge_raiders"))
        (staged / "adapters.py").write_text("".join(lines), encoding="utf-8")
        setting = Setting(staged, scratch, LIMITS, ("cs336_grader", "cs336_basics"))
        found = stack.enter_context(canaries(2**31))
        zygote = stack.enter_context(contextlib.closing(forked_zygote(*fork_zygote(), setting)))
        # More would be in the way of what follows: see test_confinement.py.
        measured = measure(zygote, LIMITS.memory_megabytes, lambda: Confinement({}, []))
        submission = RunningSubmission(zygote, load_of(staged), LIMITS)
        stack.enter_context(contextlib.closing(submission))
        closed = {b.resource for b in measured.isolation().barriers if b.closed} | {"anything"}
        # What is open needs no attack, and some would hit whoever runs this.
        got = {
            name: attack(submission, name, asdict(found))
            for name, (resource, _) in ATTACKS.items()
            if resource in closed
        }
    json.dump({"measured": asdict(measured.isolation()), "got": got}, sys.stdout)


def attack(submission: RunningSubmission, name: str, target: dict[str, Any]) -> str:
    """Run an attack; return its loot, as it says itself and as it shows outside."""
    victim = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"],
        env={"SECRET": SECRET},
    )
    told: dict[str, Any] = {"victim": victim.pid, "secret": SECRET, "daemon": DAEMON}
    told["grader"] = str(Path(cs336_grader.__file__).parent)
    # As a text, a path would be understood, and what lies there handed over.
    told = {
        name: value.encode() if isinstance(value, str) else value
        for name, value in {**target, **told}.items()
    }
    try:
        with alone(submission, name) as adapters:
            loot = getattr(adapters, name)(told)
    except (SubmissionError, WorkerLostError):
        loot = None
    dead = victim.poll() is not None
    victim.kill()
    victim.wait()
    if Path(target["file"]).read_text(encoding="ascii") != "canary":
        loot = "the file has changed"
    if dead:
        loot = "the victim is dead"
    seen = psutil.process_iter(["name", "status"])
    if (DAEMON, True) in {(p.info["name"], p.info["status"] != psutil.STATUS_ZOMBIE) for p in seen}:
        loot = "a process is left"
    return str(loot or "")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
