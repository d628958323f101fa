"""Records which of torch's operators run in a case: on all threads, whichever way leads to them."""

import contextlib
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache

import torch
from torch.profiler import ExecutionTraceObserver

FILE = "operators.json"
# A record this long comes of a case with some hundred thousand operators.
MAX_BYTES = 64 * 2**20
OPERATOR = re.compile(rb'"name": "(\w+::\w+)"')
# Runs first and last; a record without it was stopped, or was never begun.
MARK = b"aten::erfinv"
STOPPED = "recording.stopped"
EMPTY = "recording.empty"
COMPUTED = "recording.computed"
# They make, move and name tensors, and compute nothing.
NO_WORK = re.compile(
    rb"aten::(_?to|_?to_copy|alias|as_strided|clone|contiguous|copy_|detach_?|empty\w*|expand"
    rb"|fill_|full\w*|item|lift_fresh|_local_scalar_dense|ones\w*|_reshape_alias|reshape|resize_"
    rb"|resolve_conj|resolve_neg"
    rb"|set_|_unsafe_view|view\w*|zero_|zeros\w*)"
)


class OperatorTrace:
    """Records the operators of one case after the other.

    The submission can stop it, as it can do anything in its own process: the record shows that.

    Args:
        rules: patterns of operators, each with whether they are noted; the longest decides.
    """

    def __init__(self, rules: Mapping[str, bool]) -> None:
        self.rules = rules
        self.is_noted = cache(self._is_noted)
        self.erfinv, self.zero = torch.erfinv, torch.zeros(1)
        self.observer = ExecutionTraceObserver()
        self.path = ""

    def start(self, folder: str) -> None:
        """Begin a record in a folder."""
        self.path = os.path.join(folder, FILE)
        self.observer = ExecutionTraceObserver()
        self.observer.register_callback(self.path)
        self.observer.start()
        self.erfinv(self.zero)

    def stop(self) -> list[str]:
        """Return the operators recorded that match a pattern, and what the record shows besides."""
        found: list[bytes] = []
        size = 0
        with contextlib.suppress(Exception):
            self.erfinv(self.zero)
            self.observer.stop()
            self.observer.unregister_callback()
            size = os.path.getsize(self.path)
            with open(self.path, "rb") as file:
                found = OPERATOR.findall(file.read(MAX_BYTES))
            os.unlink(self.path)
        names = set(found) - {MARK}
        ruled = [name for name in map(bytes.decode, sorted(names)) if self.is_noted(name)]
        if size <= MAX_BYTES and found.count(MARK) < len(("first", "last")):
            return [*ruled, STOPPED]
        return [*ruled, COMPUTED if any(not NO_WORK.fullmatch(name) for name in names) else EMPTY]

    def _is_noted(self, operator: str) -> bool:
        """Return what the longest pattern that an operator matches says."""
        matching = [pattern for pattern in self.rules if fnmatchcase(operator, pattern)]
        return bool(matching) and self.rules[max(matching, key=len)]
