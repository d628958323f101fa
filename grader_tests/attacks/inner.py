"""Attacks on the worker's own code, from within: later checks are forked from what is patched."""

from .attack import Attack

WORKER = (
    "from cs336_grader.worker import channel, process, session, values, exceptions, entry_points\n"
)

ATTACKS = {
    "the import patches os.fork so that one process answers every check": Attack(
        "os.fork = lambda: 0\n", ruins=True
    ),
    "the import patches os.fork so that no check gets a process": Attack(
        "os.fork = lambda: 1\n", ruins=True
    ),
    "the import patches the session to answer without calling anything": Attack(
        WORKER
        + """
def answer(self, message, buffers):
    self.channel.send({"op": "result", "call": 0, "value": None, "changed": [],
                       "outputs": [], "optimizers": [], "groups": [], "files": []})

session.Session.answer = answer
""",
        ruins=True,
    ),
    "the import patches the channel to send each answer twice, for the next call too": Attack(
        WORKER
        + """
send = channel.Channel.send_frame

def twice(self, frame):
    send(self, frame)
    send(self, frame)

channel.Channel.send_frame = twice
""",
        ruins=True,
    ),
    "the import patches the encoder to encode nothing but itself": Attack(
        WORKER + "values.Encoder.encode = lambda self, value: ['object', 0, 'float']\n",
        ruins=True,
    ),
    "the import keeps the sandbox open: nothing is narrowed or removed": Attack(
        WORKER
        + """
from cs336_grader.worker.sandbox import layers

layers.Sandbox.enter_own_folder = lambda self: self.imported
layers.Sandbox.empty_own_folder = lambda self: None

def attack(values):
    for folder in (".", "..", "../.."):
        for name in ("left-behind", "check-forged"):
            try:
                open(os.path.join(folder, name), "w").write("left")
            except OSError:
                pass
    return [0.0]
"""
    ),
    "the import hides itself: no tracer, no places, no exceptions": Attack(
        WORKER
        + """
entry_points.EntryPoints.news = lambda self: [["tests/adapters.py", 1, "::error::x"]] * 1000
exceptions.describe = lambda *_: {"op": "loaded"}
session.describe = process.describe = exceptions.describe

def attack(values):
    raise ValueError
"""
    ),
    "the import breaks what every later line needs": Attack(
        """
import builtins, json, socket, struct, sys

builtins.isinstance = lambda *_: True
json.dumps = lambda *_, **__: "[]"
struct.Struct.pack = None if False else struct.Struct.pack
socket.recv_fds = lambda *_: (b"", [0], 0, None)
sys.modules["torch"] = sys.modules["numpy"] = None
""",
        ruins=True,
    ),
    "the import makes every comparison agree": Attack(
        """
import builtins, numpy, torch

for module, names in {
    numpy.testing: ["assert_allclose", "assert_array_equal", "assert_equal"],
    numpy: ["allclose", "array_equal", "isclose"],
    torch: ["allclose", "equal", "isclose"],
    torch.testing: ["assert_close"],
}.items():
    for name in names:
        setattr(module, name, lambda *args, **kwargs: True)
builtins.all = lambda *args: True
"""
    ),
    "the import has every test runner say that all has passed": Attack(
        """
import _pytest.reports, _pytest.runner, pytest

_pytest.reports.TestReport.from_item_and_call = classmethod(
    lambda cls, item, call: cls(item.nodeid, item.location, {}, "passed", None, call.when)
)
_pytest.runner.pytest_runtest_call = lambda item: None
pytest.fail = lambda *args, **kwargs: None
"""
    ),
    "the import installs finders, tracers, hooks and profilers that live on": Attack(
        """
import sys, threading

class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(0)

def hook(event, args):
    if event in ("os.fork", "socket.connect"):
        raise SystemExit(0)

sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: (_ for _ in ()).throw(SystemExit(0)))
sys.addaudithook(hook)
sys.settrace(lambda *_: None)
threading.setprofile(lambda *_: None)
sys.excepthook = sys.unraisablehook = lambda *_: os._exit(0)
""",
        ruins=True,
    ),
    "the module claims to have every adapter, and replaces itself": Attack(
        """
import sys, types

class Everything(types.ModuleType):
    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    __call__ = __iter__ = __eq__ = lambda self, *_: True

sys.modules[__name__] = Everything(__name__)
sys.modules["builtins"] = Everything("builtins")
""",
        ruins=True,
    ),
    "it changes what all code of a process shares, in a call": Attack("""
import locale, warnings

import numpy
import torch

def attack(values):
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    torch.nn.Module.__call__ = lambda *_, **__: None
    numpy.seterr(all="raise")
    warnings.simplefilter("error")
    os.umask(0o777)
    os.chdir("/")
    os.environ.clear()
    return [0.0]
"""),
    "it says what another check wants to hear": Attack("""
kept = []

def attack(values):
    kept.append(values)
    open("kept", "w").write(repr(values))
    os.environ["KEPT"] = repr(values)
    return [0.0]

def run_moving_average(values, width):
    if kept or os.path.exists("kept") or "KEPT" in os.environ:
        raise RuntimeError(loot(b"canary-of-the-check-0123456789abcdef"))
    return attack(values)
"""),
    "it keeps what it was told, and does not begin anew with the next case": Attack("""
import gc, time

from cs336_grader.worker import process

told = []

def run_moving_average(values, width):
    told.append(loot(values, *gc.get_objects()))
    process.seed_generators = lambda _: None if width == 1 else time.sleep(1000)
    process.Session = lambda *_: next(
        one for one in gc.get_objects() if type(one).__name__ == "Session")
    if len(told) > 1:
        raise RuntimeError(told)
    return [0.0]
"""),
    "it edits the code, the closures and the defaults of the worker's functions": Attack(
        """
import contextlib, gc, types

def attack(values):
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and found.__module__.startswith("cs336_grader"):
            found.__defaults__ = found.__kwdefaults__ = None
            # Of what has a closure, the code stays.
            with contextlib.suppress(ValueError):
                found.__code__ = (lambda *args, **kwargs: True).__code__
    return [0.0]
"""
    ),
}
