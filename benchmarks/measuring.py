"""CPU time side by side: in turn, so that whatever else the machine does meets all alike."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

ONE_THREAD = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Cost:
    """The median CPU time of some calls, and the most memory that one of them took."""

    seconds: float
    mebibytes: float | None = None


def in_turn(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Cost]:
    """What each costs in this process, after one call that does not count."""
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            begun = time.process_time()
            run()
            times[name].append(time.process_time() - begun)
    return {name: Cost(median(found)) for name, found in times.items()}


def alone_in_turn(contenders: Mapping[str, list[str]], rounds: int) -> dict[str, Cost]:
    """What each costs in a process of its own, which alone.py measures without what it imports."""
    found: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, arguments in contenders.items():
            command = [sys.executable, "-m", "benchmarks.alone", *arguments]
            ended = subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
            found[name].append(Cost(**json.loads(ended.stdout)))
    return {
        name: Cost(median(cost.seconds for cost in costs), max(c.mebibytes or 0 for c in costs))
        for name, costs in found.items()
    }
