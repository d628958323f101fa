"""What the rules make of what a run showed: whom it touches, what it costs and what is told."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from cs336_grader.policy import Examination
from cs336_grader.records import Consequence, Finding, ForbiddenCall, Staged
from cs336_grader.running.forbidden_calls import forbidden_calls_in
from grader_tests.assignments import ASSIGNMENT
from grader_tests.unit.submissions import write

ADAPTERS = "tests/adapters.py"
PROBLEMS = tuple(ASSIGNMENT.rubric.problems)
LOOK, COSTS = Consequence.HUMAN_LOOK, Consequence.COSTS_POINTS


def examined(folder: Path, source: str = "", **modules: str) -> Examination:
    """A submission of these adapters and modules of its package."""
    files = {f"cs336_basics/{name}.py": text for name, text in modules.items()}
    root = write(folder / "submission", {ADAPTERS: source, **files})
    return Examination(Staged("m", "", root, "tests.adapters", (".",), (), frozenset()), ASSIGNMENT)


def found(
    folder: Path, calls: Iterable[ForbiddenCall], source: str = "", **modules: str
) -> tuple[Finding, ...]:
    """What is found where these ran."""
    return examined(folder, source, **modules).findings(PROBLEMS, calls)


def ran(check: str, *names: str) -> list[ForbiddenCall]:
    """Operators that ran in a check."""
    return [ForbiddenCall(check, "", 0, name) for name in names]


def test_a_forbidden_operator_costs_its_problem_once(tmp_path: Path) -> None:
    """One finding tells all of it: the operators, the check, the cost and how to contest it."""
    calls = ran("test_softmax", "aten::softmax", "aten::_softmax", "recording.computed")
    (finding,) = found(tmp_path, calls)
    assert (finding.problem, finding.consequence) == ("softmax", COSTS)
    for part in ("aten::softmax", "aten::_softmax", "test_softmax", "no points", "contest"):
        assert part in finding.message


def test_what_stands_on_a_part_is_not_charged_again(tmp_path: Path) -> None:
    """Only the lowest of the problems that are built on each other pays."""
    operator = "aten::linear"
    checks = ("test_linear", "test_multihead_attention", "test_transformer_lm")
    calls = [call for check in checks for call in ran(check, operator)]
    assert [one.problem for one in found(tmp_path, calls)] == ["linear"]
    assert [one.problem for one in found(tmp_path, calls[1:])] == ["multihead_self_attention"]


def test_another_line_is_another_use(tmp_path: Path) -> None:
    """A problem pays for its own call, not for that of what it is built on."""
    lines = {"test_linear": [3], "test_transformer_lm": [3, 9]}
    calls = [
        ForbiddenCall(check, ADAPTERS, line, "torch.nn.Linear")
        for check, places in lines.items()
        for line in places
    ]
    charged = {one.problem: one.line for one in found(tmp_path, calls)}
    assert charged == {"linear": 3, "transformer_lm": 9}


def test_operators_of_one_family_are_charged_once(tmp_path: Path) -> None:
    """Torch chooses among the kernels of one function by the shapes of its arguments."""
    calls = [
        *ran("test_attention", "aten::_scaled_dot_product_attention_math"),
        *ran("test_multihead_attention", "aten::_scaled_dot_product_flash_attention_for_cpu"),
    ]
    assert [one.problem for one in found(tmp_path, calls)] == ["scaled_dot_product_attention"]


def test_a_call_in_a_file_that_is_imported_unseen_counts(tmp_path: Path) -> None:
    """However it was imported, it is the submission's."""
    call = ForbiddenCall("test_gradient_clipping", "cs336_basics/far.py", 2, "torch.nn.utils.x")
    (finding,) = found(tmp_path, [call], far="import torch\ntorch.nn.utils.x()\n")
    assert (finding.problem, finding.line) == ("gradient_clipping", 2)


def test_the_answer_to_one_problem_is_a_question_in_another(tmp_path: Path) -> None:
    """A ready-made softmax is the answer to softmax; in attention a person decides."""
    (finding,) = found(tmp_path, ran("test_attention", "aten::_softmax"))
    assert (finding.problem, finding.consequence) == ("scaled_dot_product_attention", LOOK)


def test_a_call_brings_its_line(tmp_path: Path) -> None:
    """It comes before the operators that it led to."""
    name = "torch.nn.functional.silu"
    calls = [*ran("test_silu", "aten::silu"), ForbiddenCall("test_silu", ADAPTERS, 7, name)]
    (finding,) = found(tmp_path, calls)
    assert (finding.name, finding.file, finding.line) == (name, ADAPTERS, 7)


@pytest.mark.parametrize(
    "line",
    [
        "return torch.softmax(x, -1)",
        'return getattr(torch, "softmax")(x, -1)',
        "return x.softmax(-1)",
        "return torch.nn.Softmax(-1)(x)",
    ],
)
def test_an_operator_is_looked_for_in_the_source(tmp_path: Path, line: str) -> None:
    """In the adapters and in what they import, but for the submission's own names."""
    package = f"import torch\nclass Softmax:\n    def softmax(self, x):\n        {line}\n"
    source = (
        "from cs336_basics.model import Softmax\ndef run_softmax(x):\n    return Softmax()(x)\n"
    )
    (finding,) = found(tmp_path, ran("test_softmax", "aten::_softmax"), source, model=package)
    assert (finding.file, finding.line) == ("cs336_basics/model.py", 4)


def test_an_operator_that_the_source_does_not_name_has_no_line(tmp_path: Path) -> None:
    """The file of the adapters stands for the submission."""
    (finding,) = found(tmp_path, ran("test_silu", "aten::silu"))
    assert (finding.file, finding.line) == (ADAPTERS, 0)


def test_a_stopped_record_asks_for_a_look(tmp_path: Path) -> None:
    """And says what was seen."""
    (finding,) = found(tmp_path, ran("test_silu", "recording.stopped"))
    assert (finding.problem, finding.consequence) == ("positionwise_feedforward", LOOK)
    assert "stopped" in finding.message


def test_results_that_no_operator_computed_ask_for_a_look(tmp_path: Path) -> None:
    """Unless the problem shows some work in another case."""
    calls = ran("test_silu", "recording.empty")
    assert [one.consequence for one in found(tmp_path / "1", calls)] == [LOOK]
    calls += ran("test_swiglu", "recording.computed")
    assert found(tmp_path / "2", calls) == ()


@pytest.mark.parametrize(
    "forged",
    [
        ForbiddenCall("test_nothing", "", 0, "aten::softmax"),
        ForbiddenCall("test_softmax", "tests/other.py", 3, "torch.nn.functional.softmax"),
        ForbiddenCall("test_softmax", "", 0, "aten::add"),
        ForbiddenCall("test_softmax", ADAPTERS, 3, "torch.nn.Module"),
        ForbiddenCall("test_softmax", "", 0, ""),
    ],
)
def test_what_cannot_be_true_is_passed_over(tmp_path: Path, forged: ForbiddenCall) -> None:
    """A worker is believed in nothing that the rules are not about."""
    assert found(tmp_path, [forged]) == ()


HIDING = {
    "text": "exec('x = 1')",
    "an evaluation": "x = eval('1')",
    "another language": "import ctypes\nctypes.CDLL(None)",
    "bytes": "import pickle\npickle.loads(b'')",
    "a name of torch": "import torch\ndef f(n):\n    return getattr(torch.nn, n)",
    "a module": "import importlib\ndef f(n):\n    return importlib.import_module(n)",
    "a loader": "from importlib.util import spec_from_file_location as s\ns('a', 'b')",
    "a part of torch": "import torch\ntorch.compiler.is_compiling = lambda: True",
    "an attribute of torch": "import torch\nsetattr(torch, 'exp', None)",
    "the names of torch": "import torch\nvars(torch)",
    "frames": "import sys\nsys._getframe()",
    "the insides of a function": "def f(): pass\nf.__code__",
    "the kernel": "import torch\ndef f(o, k, x):\n    return o.redispatch(k, x)",
}


@pytest.mark.parametrize("way", HIDING)
def test_code_that_hides_what_it_calls_asks_for_a_look(tmp_path: Path, way: str) -> None:
    """Once a file, with its last line here."""
    source = HIDING[way]
    (finding,) = found(tmp_path, (), "from cs336_basics import tools\n", tools=source)
    assert (finding.problem, finding.consequence) == ("", LOOK)
    assert (finding.file, finding.line) == ("cs336_basics/tools.py", len(source.splitlines()))


PLAIN = {
    "a method of the name": "def f(model):\n    return model.eval()",
    "a function of the name": "def eval(x):\n    return x\neval(1)",
    "a pattern": "import re\nre.compile('a')",
    "a module that is written out": "import importlib\nimportlib.import_module('regex')",
    "an attribute of its own": "def f(o, n):\n    return getattr(o, n)",
    "an object from a file": "import pickle\ndef f(file):\n    return pickle.load(file)",
    "the bytes of a file": "import pickle\ndef f(file):\n    return pickle.loads(file.read())",
    "an attribute of a layer": "def f(layer):\n    layer.weight = None",
}


@pytest.mark.parametrize("way", PLAIN)
def test_plain_code_does_not(tmp_path: Path, way: str) -> None:
    """Nothing is looked for where nothing is hidden."""
    assert found(tmp_path, (), PLAIN[way]) == ()


def test_code_that_nothing_imports_does_not(tmp_path: Path) -> None:
    """A script beside the package is no part of what is graded."""
    assert found(tmp_path, (), "import torch", script=HIDING["text"]) == ()


def test_a_file_that_cannot_be_read_asks_for_a_look(tmp_path: Path) -> None:
    """What it does has to be read by a person."""
    (finding,) = found(tmp_path / "1", (), "def f(:\n")
    assert (finding.file, finding.consequence) == (ADAPTERS, LOOK)
    (finding,) = found(tmp_path / "2", (), "import cs336_basics.a", a="def f(:\n", b="def f(:\n")
    assert finding.file == "cs336_basics/a.py"


@pytest.mark.parametrize(
    "told",
    [None, 3, "a", {}, [3], [["a.py", 1]], [["a.py", "1", "x"]], [["a.py", -1, "x"]]],
)
def test_calls_of_another_form_are_passed_over(told: object) -> None:
    """They come from a process that runs the submission."""
    assert list(forbidden_calls_in(told)) == []


def test_calls_are_capped() -> None:
    """However many a worker sends."""
    assert len(list(forbidden_calls_in([["a.py", 1, "torch"]] * 10_000))) == 100
