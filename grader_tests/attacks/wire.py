"""Attacks on the judge by what is sent to it: the worker can send any bytes."""

from .attack import Attack

# Finds the check's own channel, and sends what no honest worker sends.
START = """
import gc, json, socket, struct

def channel():
    return next(one for one in gc.get_objects() if type(one).__name__ == "Channel"
                and one.connection.fileno() >= 0)

def send(message, *buffers, sizes=None):
    header = json.dumps([message, [len(b) for b in buffers] if sizes is None else sizes]).encode()
    raw(struct.pack(">I", len(header)) + header + b"".join(buffers))

def raw(data):
    channel().connection.sendall(data)

def result(value=None, **other):
    return {"op": "result", "call": 0, "value": value, "outputs": [], "changed": [],
            **other}

"""


def sends(lines: str) -> Attack:
    """An attack that sends something, then waits to be ended."""
    indented = "\n".join(f"    {line}" for line in lines.strip().splitlines())
    waits = "\n    import time\n    time.sleep(1000)\n"
    return Attack(f"{START}def attack(values):\n{indented}{waits}")


ATTACKS = {
    "a header of four gigabytes": sends('raw(b"\\xff" * 4 + b"[" * 1000)'),
    "a header that is nested without end": sends(
        'data = b"[" * 10**6\nraw(struct.pack(">I", len(data)) + data)'
    ),
    "a header of numbers without end": sends(
        'data = b"[" + b"9" * 10**6 + b"]"\nraw(struct.pack(">I", len(data)) + data)'
    ),
    "a header that is no JSON, no list, no message": sends("""
for data in (b"null", b"[]", b"[1, 2]", b"{}", b"\\xff\\xfe", b'[{"op": 1}, []]',
             b'[{"op": []}, [{}]]'):
    raw(struct.pack(">I", len(data)) + data)
"""),
    "buffers of negative, fractional and enormous sizes": sends("""
for sizes in ([-1], [0.5], ["1"], [2**40], [2**62, 2**62], [True], {"a": 1}, None):
    send(result(), sizes=sizes)
"""),
    "a hundred thousand buffers and one more": sends("send(result(), sizes=[0] * 100_001)"),
    "half a frame, and then nothing": sends('raw(struct.pack(">I", 100) + b"[")'),
    "integers that take ten times their space": sends("""
data = json.dumps([result("VALUE"), []]).encode().replace(
    b'"VALUE"', b'["list",[' + b"1," * (2**23 - 100) + b"1]]")
raw(struct.pack(">I", len(data)) + data)
"""),
    "bytes that are none, and a text where a buffer is agreed": sends("""
for content in ("\\u0100", "x" * (2**23), [0.0], -1, 0.5, None):
    send(result(["bytes", content]), b"12345678")
send(result(["tensor", "x", "float64", [1]]), b"x" * 8)
"""),
    "answers ahead of time, to the next case of its check too": Attack(f"""{START}
def attack(values):
    send(result(["list", [0.0]]))
    for _ in range(5):
        send({{"op": "renewed"}})
        send(result(["list", [0.0]]))
    return [0.0]
"""),
    "values nested deeper than they can be decoded": sends("""
for depth in (400, 4000):
    value = b'["list",[' * depth + b"1" + b"]]" * depth
    data = json.dumps([result("VALUE"), []]).encode().replace(b'"VALUE"', value)
    raw(struct.pack(">I", len(data)) + data)
"""),
    "values of no kind, of wrong kinds and of other kinds' parts": sends("""
for value in (["exec", "1"], ["__init__", 0], ["tensor", 0, "object", [1]],
              ["ndarray", 0, "O", [1]], ["tensor", 0, "float64", [-1]],
              ["tensor", 0, "float64", [2**40, 0]],
              ["dict", 1, 2],
              ["iterator", {}], ["device", "cuda:99"], ["dtype", "quint8"], [[]], [None], [], {}):
    send(result(value), b"12345678")
"""),
    "truth values that are neither true nor false": sends(
        'send(result(["tensor", 0, "bool", [8]]), bytes(range(8)))'
    ),
    "a tensor of 2^62 elements and none": sends(
        'send(result(["tensor", 0, "float32", [2**31, 2**31, 0]]), b"")'
    ),
    "a meta tensor where numbers are expected": sends('send(result(["meta", "float64", [8]]))'),
    "numbers that are not finite, as JSON never had them": sends("""
data = b'[{"op":"result","call":0,"value":["list",[NaN,Infinity,-Infinity,1e999]],' \\
       b'"outputs":[],"changed":[]},[]]'
raw(struct.pack(">I", len(data)) + data)
"""),
    "answers ahead of time, to all calls to come": sends("""
for _ in range(100):
    send(result(["list", [0.0]]))
"""),
    "changes to what was never passed": sends("""
for changed in ([[0, "data", 5]], [[-1, "grad", None]], [["x", "data", None]],
                [[10**9, "data", 1]], 7):
    send(result(changed=changed))
"""),
    "states of optimizers, groups and files that do not exist": sends("""
for part, node in (("state", ["dict", [], []]), ("groups", ["list", []])):
    send(result(changed=[[0, part, node]]))
send(result(changed=[[0, "content", ["tuple", [["bytes", 0], 0]]]]), b"x")
"""),
    "questions about what was not passed": sends("""
for key in (0, -1, 10**9, None, "x", [], {}):
    send({"op": "pull", "key": key})
    send({"op": "callback", "key": key})
"""),
    "questions without end, about what has an end": Attack(
        f"""{START}
def run_running_totals(numbers):
    if isinstance(numbers, list):
        return (sum(numbers[:count + 1]) for count in range(len(numbers)))
    for number in range(10**4):
        send({{"op": "pull", "key": 0}})
    yield 1.0
""",
        ruins=True,
    ),
    "messages that only the launcher may send": sends("""
for event in ("outcome", "done", "ready", "fault"):
    send({"op": event, "event": event, "check": "test_moving_average", "verdict": "passed",
          "reason": "x", "message": "", "duration_seconds": 0, "picture": None, "mistakes": [],
          "nothing_ran": False})
"""),
    "an exception whose parts are of other types": sends("""
nested = []
for _ in range(500):
    nested = [nested]
send({"op": "error", "type": nested, "text": {"a": 1}, "places": "x", "missing": ["numpy"]})
"""),
    "an exception that says a package is missing": sends("""
send({"op": "error", "type": "ModuleNotFoundError", "text": "No module named 'numpy'", "places": [],
      "missing": "the package numpy"})
"""),
    "an exception of ten megabytes": sends("""
send({"op": "error", "type": "x" * 10**6, "text": "y" * 10**7, "places": ["z" * 10**6] * 3})
"""),
    "forbidden_calls that act on their readers": sends("""
text = "::error::\\x1b[31m<script>\\n![x](http://a.example)"
send(result(seen=[[text, 1, text], [text, -1, text], ["a" * 10**6, 1, "b"], 7, [[], 1, {}]]))
"""),
    "descriptors along with an answer": sends("""
null = os.open("/dev/null", os.O_RDONLY)
for _ in range(200):
    socket.send_fds(channel().connection, [b"x"], [null] * 200)
"""),
    "a flood of small frames": sends("""
while True:
    send(result())
"""),
    "an iterator that gives nothing and does not end": Attack(
        f"""{START}
def run_moving_average(values, width):
    return iter([0.0])

from cs336_grader.worker import session
session.Session.next = lambda self, message, decoder: (
    {{"op": "items", "value": ["list", []], "done": False}}, session.Encoder())
""",
        ruins=True,
    ),
    "an iterator that goes on when it has ended": Attack(
        f"""{START}
def run_moving_average(values, width):
    return iter([0.0])

def run_running_totals(numbers):
    yield -1.0

from cs336_grader.worker import session
session.Session.next = lambda self, message, decoder: (
    {{"op": "items", "value": ["list", [0.0] * 9], "done": "yes"}}, session.Encoder())
""",
        ruins=True,
    ),
    "the answer to a fork names another process": Attack(f"""{START}
from cs336_grader.worker import process
fork = process.fork

def forked(*arguments):
    found = fork(*arguments)
    return 1 if isinstance(found, int) else found

process.fork = forked
os.getpid = lambda: 1

def attack(values):
    return [0.0]
"""),
    "a check is greeted by a process that is only a bystander": Attack(
        f"""{START}
import time

fork = os.fork

def forked():
    first = fork()
    if first == 0:
        second = fork()
        if second:
            time.sleep(1000)
    return first

os.fork = forked
""",
        ruins=True,
    ),
}
