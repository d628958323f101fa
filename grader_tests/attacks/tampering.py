"""Wrong submissions of the tiny assignment that try to be judged right anyway.

Each is the text of an ``adapters.py``. What comes first is the attack; ``WRONG`` follows it.
"""

WRONG = """

def run_moving_average(values, width):
    return [0.0]


def run_count_words(text):
    return {"wrong": -1}


def run_running_totals(numbers):
    yield -1.0
"""

ATTACKS = {
    "comparisons that always agree": """
import builtins
import sys

import numpy
import torch

for module, names in {
    numpy.testing: ["assert_allclose", "assert_array_equal", "assert_equal"],
    numpy: ["allclose", "array_equal", "isclose"],
    torch: ["allclose", "equal", "isclose"],
    torch.testing: ["assert_close"],
}.items():
    for name in names:
        setattr(module, name, lambda *args, **kwargs: True)
builtins.isinstance = lambda *args: True
builtins.all = lambda *args: True
AssertionError.__init__ = lambda *args: None if False else None
""",
    "a test runner whose reports all say passed": """
try:
    import _pytest.reports
    import _pytest.runner
    import pytest

    _pytest.reports.TestReport.from_item_and_call = classmethod(
        lambda cls, item, call: cls(item.nodeid, item.location, {}, "passed", None, call.when)
    )
    _pytest.runner.pytest_runtest_call = lambda item: None
    pytest.fail = lambda *args, **kwargs: None
except Exception:
    pass
""",
    "a search of memory and frames for the suite, the reference or what is expected": """
import gc
import sys


def spoils():
    words = ("statistics_basics", "tests.test_", "_pytest", "conftest", "expected", "judging")
    frame = sys._getframe()
    while frame is not None:
        yield from (str(value) for value in frame.f_locals.values())
        yield frame.f_code.co_filename
        frame = frame.f_back
    yield from sys.modules
    for found in gc.get_objects():
        if type(found) is dict:
            yield from (key for key in found if type(key) is str)
    return words


def loot():
    words = ("statistics_basics.", "tests.test_", "_pytest", "RecordedValues")
    return [text for text in spoils() if any(word in text for word in words)]


def run_moving_average(values, width):
    raise RuntimeError(f"loot: {loot()[:3]}")


def run_count_words(text):
    raise RuntimeError(f"loot: {loot()[:3]}")


def run_running_totals(numbers):
    raise RuntimeError(f"loot: {loot()[:3]}")
""",
    "values that are equal to everything": """
class Yes(float):
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __hash__ = float.__hash__


class All(list):
    def __eq__(self, other):
        return True

    def __len__(self):
        return 3


class Any(dict):
    def __eq__(self, other):
        return True


class Chameleon:
    __class__ = list

    def __eq__(self, other):
        return True

    def __reduce__(self):
        return (exec, ("import os; os._exit(0)",))


def run_moving_average(values, width):
    return All([Yes()])


def run_count_words(text):
    return Any(wrong=-1)


def run_running_totals(numbers):
    return Chameleon()
""",
    "skips, expected failures and exits of a test runner": """
import atexit
import os
import sys
import unittest

import pytest

atexit.register(os._exit, 0)


def run_moving_average(values, width):
    pytest.skip("nothing to see")


def run_count_words(text):
    pytest.xfail("as expected")


def run_running_totals(numbers):
    raise unittest.SkipTest("nothing to see")
""",
    "an exit with 0 while it is imported": """
import os

os._exit(0)
""",
    "forged messages to the trusted process": """
import gc
import json
import struct


def forge(*messages):
    for found in gc.get_objects():
        if type(found).__name__ == "Channel":
            for message in messages:
                header = json.dumps([message, []]).encode()
                found.connection.sendall(struct.pack(">I", len(header)) + header)


verdict = {"op": "outcome", "event": "outcome", "verdict": "passed", "check": "test_count_words"}
done = {"op": "done", "event": "done"}
changed = [[0, "data", 5], [10**9, "grad", None]]
result = {"op": "result", "call": 0, "value": ["object", 1, "list"], "changed": changed}
empty = {"optimizers": [], "options": [], "files": []}


def run_moving_average(values, width):
    forge({**result, **empty}, verdict)
    return [0.0]


def run_count_words(text):
    forge(verdict, done)
    return {}


def run_running_totals(numbers):
    forge({"op": "pull", "key": 10**6}, {"op": "callback", "key": 0})
    return iter([])
""",
    "answers without end": """
def run_moving_average(values, width):
    nested = []
    for _ in range(10**5):
        nested = [nested]
    return nested


def run_count_words(text):
    import torch

    return torch.zeros(1).expand(2**40)


def run_running_totals(numbers):
    while True:
        yield 0.0
""",
}


def submission(attack: str) -> str:
    """The adapters of an attack: where it defines none of its own, they are plainly wrong."""
    text = ATTACKS[attack]
    return text if "def run_" in text else text + WRONG
