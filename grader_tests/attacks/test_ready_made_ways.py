"""A ready-made answer costs points or asks for a look, whichever way leads to it.

Each way runs as in a worker, recorded, in a process of its own; no case is graded for it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cs336_grader.policy import Examination
from cs336_grader.records import NO_CHECK, Consequence, Finding, ForbiddenCall, Staged
from grader_tests.assignments import ASSIGNMENT, ROOT

from .own_ways import OWN
from .ready_made_ways import NOT_COVERED, PRELUDE, WAYS
from .unrecorded_ways import UNRECORDED_WAYS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="each way runs in a fork")
PROGRAM = """
import json, os, sys
from pathlib import Path
from cs336_grader.worker.process import warm_up
from cs336_grader.worker.call_record import CallRecord
from cs336_grader.worker.entry_points import enter
warm_up()
import torch
torch.compiler.set_stance("force_eager")
root, rules = Path(sys.argv[1]), json.loads(sys.argv[2])
torch.manual_seed(0)
x, ids = torch.randn(3, 4), torch.tensor([0, 1, 2])
q = torch.randn(2, 3, 4)

def step(a):
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    enter(enter(a.get_adamw_cls(), ([p],), {"lr": 1e-3}).step, (), {})

def clip(a):
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    enter(a.run_gradient_clipping, ([p], 1.0), {})

# As the judge does where the worker is lost with the record.
ENDED = b'[[["", 0, "recording.stopped"]], [], "it ended"]'
CALLS = {
    "softmax": lambda a: a.run_softmax(x, -1),
    "positionwise_feedforward": lambda a: a.run_silu(x),
    "cross_entropy": lambda a: a.run_cross_entropy(x, ids),
    "scaled_dot_product_attention": lambda a: a.run_scaled_dot_product_attention(q, q, q),
    "rmsnorm": lambda a: a.run_rmsnorm(4, 1e-5, torch.ones(4), x),
    "layer_norm": lambda a: a.run_layer_norm(4, 1e-5, torch.ones(4), torch.zeros(4), x),
    "embedding": lambda a: a.run_embedding(3, 4, x, ids),
    "linear": lambda a: a.run_linear(4, 3, x, torch.ones(2, 4)),
    "gelu": lambda a: a.run_gelu(x),
    "dropout": lambda a: a.run_dropout(x, 0.5),
    "adamw": step,
    "gradient_clipping": clip,
    "learning_rate_schedule": lambda a: a.run_get_lr_cosine_schedule(3, 1.0, 0.1, 2, 9),
    "tokenizer": lambda a: a.get_tokenizer({0: b"a"}, []),
}
calls = CallRecord(root, rules)
for number, (problem, recorded) in enumerate(json.loads(sys.argv[3])):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        result, imported, failed = None, [], ""
        sys.path.insert(0, str(root / str(number)))
        calls.entry_points.root = f"{root}/{number}/"
        folder = root / str(number) / "scratch"
        folder.mkdir()
        import tempfile
        tempfile.tempdir = str(folder)
        calls.news()
        try:
            import adapters
            imported = calls.news()
            if recorded:
                calls.start()
            result = CALLS[problem](adapters)
        except BaseException as error:
            failed = f"{type(error).__name__}: {error}"
        if recorded:
            calls.stop()
        told = calls.news()
        if not (isinstance(result, torch.Tensor) and result.is_floating_point()):
            told = [one for one in told if one[2] not in ("recording.empty", "recording.computed")]
        os.write(writing, json.dumps([told, imported, failed]).encode() + b"\\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        print((answer.readline() or ENDED).decode().strip(), flush=True)
    os.waitpid(child, 0)
"""
FOUND: dict[tuple[str, str], str] = {**WAYS, **UNRECORDED_WAYS}
CASES = {**FOUND, **OWN}
# The folder of a way, what was noted of it and of its import, and what it raised.
Run = tuple[Path, list[tuple[str, int, str]], list[tuple[str, int, str]], str]
Runs = dict[tuple[str, str], Run]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What a worker notes of each way, with the folder of its adapters."""
    root = tmp_path_factory.mktemp("ways")
    for number, body in enumerate(CASES.values()):
        (root / str(number)).mkdir()
        (root / str(number) / "adapters.py").write_text(PRELUDE + body, encoding="utf-8")
    rules = ASSIGNMENT.rubric.watched()
    problems = [[case[0], case not in UNRECORDED_WAYS] for case in CASES]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root), json.dumps(rules), json.dumps(problems)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(CASES), done.stderr[-2000:]
    return {
        case: (root / str(number), *json.loads(line))
        for number, (case, line) in enumerate(zip(CASES, lines, strict=True))
    }


def found(run: Run, problem: str) -> tuple[Finding, ...]:
    """The findings about a way, as if a check of the problem had run it."""
    folder, told, imported, _ = run
    staged = Staged("mine", "", folder, "adapters", (".",), (), frozenset())
    check = next(one.name for one in ASSIGNMENT.checks.values() if one.problem == problem)
    calls = [ForbiddenCall(check, *place) for place in told]
    calls += [ForbiddenCall(NO_CHECK, *place) for place in imported]
    return Examination(staged, ASSIGNMENT).findings((problem,), calls)


@pytest.mark.parametrize("case", FOUND, ids=": ".join)
def test_a_ready_made_answer_is_found(runs: Runs, case: tuple[str, str]) -> None:
    """It costs the problem's points, or a person is asked."""
    findings = found(runs[case], case[0])
    assert bool(findings) is (case not in NOT_COVERED), runs[case][1:]


@pytest.mark.parametrize("case", OWN, ids=": ".join)
def test_own_work_is_not(runs: Runs, case: tuple[str, str]) -> None:
    """What a student may write asks for nothing."""
    _, told, imported, failed = runs[case]
    assert not failed
    assert not found(runs[case], case[0]), (told, imported)


def test_most_cost_points(runs: Runs) -> None:
    """A look is the exception: a person's time is worth more than the machine's."""
    costs = [
        case
        for case in WAYS
        if Consequence.COSTS_POINTS in {one.consequence for one in found(runs[case], case[0])}
    ]
    assert len(costs) >= 0.8 * len(WAYS), sorted(set(WAYS) - set(costs))
