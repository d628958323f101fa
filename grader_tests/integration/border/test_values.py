"""A function of a submission behaves, across the border, as if it were called directly."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cs336_grader.running.faults import SubmissionError, WorkerLostError


def test_arguments_arrive_and_results_return_as_given(adapters: Any) -> None:
    """Values keep their exact types both ways."""
    values = [1, 2.5, True, None, "text", b"\xff", [1], (2, "x"), {3: b"four"}, {5}, torch.float16]
    assert adapters.echo(*values) == values
    assert adapters.echo(keyword=3) == [3]
    given = (Path("a"), iter([1]), (n for n in [1]), torch.nn.Linear(2, 2), io.BytesIO(), [1], (1,))
    assert adapters.kinds(*given) == [
        *("PosixPath", "list_iterator", "generator", "Module", "BytesIO", "list", "tuple")
    ]
    meta, half = adapters.echo(torch.empty(2, device="meta"), torch.ones(2, dtype=torch.bfloat16))
    assert meta.device.type == "meta"
    assert half.dtype == torch.bfloat16


def test_gradients_flow_across(adapters: Any) -> None:
    """Numerical differentiation agrees, and where gradients are off nothing has a graph."""
    q, k, v = (torch.randn(2, 3, n, dtype=torch.float64, requires_grad=True) for n in (4, 4, 2))
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    assert torch.autograd.gradcheck(lambda *x: adapters.masked_attention(*x, mask), (q, k, v))
    with torch.no_grad():
        assert not adapters.masked_attention(q, k, v, mask).requires_grad


def test_what_the_check_computed_may_be_changed_in_place(adapters: Any) -> None:
    """As in one process: autograd refuses that for a leaf alone."""
    leaf = torch.ones(3, requires_grad=True)
    adapters.exponential_in_place(leaf * 1.0).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(SubmissionError, match="leaf"):
        adapters.exponential_in_place(leaf)


def trained(optimizer_class: Any, steps: int) -> tuple[torch.nn.Module, Any]:
    """A small model and its optimizer after some steps, one with another learning rate."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    options: dict[str, Any] = {"lr": 0.1, "weight_decay": 0.3, "betas": (0.8, 0.9), "eps": 1e-6}
    optimizer = optimizer_class(model.parameters(), **options)
    train(model, optimizer, steps)
    return model, optimizer


def train(model: torch.nn.Module, optimizer: Any, steps: int) -> None:
    """Take some steps."""
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.full((2, 3), float(step))).square().sum().backward()
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        optimizer.step()


def weights(model: torch.nn.Module) -> list[float]:
    """All of a model's numbers."""
    return [x for p in model.parameters() for x in p.flatten().tolist()]


def test_a_function_is_called_here_with_what_it_is_given_there(adapters: Any) -> None:
    """Tensors go to the check and come back, in the middle of a call; nothing else may."""
    given, returned = [], []

    def model(ids: torch.Tensor) -> torch.Tensor:
        given.append(ids.tolist())
        returned.append(torch.nn.functional.one_hot(ids, 4).float())
        return returned[-1]

    second, first = adapters.ask_for_logits(model, torch.tensor([[1, 0]]))
    assert given == [[[1, 0]], [[1, 1]]]
    assert second.tolist() == returned[1].tolist()
    assert first.tolist() == returned[0].tolist(), "changed in place there, changed here"
    assert first[0, 1, 0] == -torch.inf
    assert adapters.call_with(lambda text: text.upper(), "text") == "TEXT"
    with pytest.raises(SubmissionError, match="a value of type object cannot be passed on"):
        adapters.call_with(lambda value: value, None)
    with pytest.raises(AssertionError, match="too short"):
        adapters.call_with(check_length, "text")


def check_length(text: str) -> None:
    """A function of a check that says what is wrong with its argument."""
    assert len(text) > 4, "too short"


@pytest.mark.parametrize("kind", ["path", "file"])
@pytest.mark.parametrize("whose", ["torch", "theirs"])
def test_a_checkpoint_is_written_and_read_over_there(
    adapters: Any, tmp_path: Path, kind: str, whose: str
) -> None:
    """Model and optimizer, torch's own or the submission's, come back as they were."""
    place = tmp_path / "checkpoint" if kind == "path" else io.BytesIO()
    optimizer_class = torch.optim.AdamW if whose == "torch" else adapters.adamw()
    model, optimizer = trained(optimizer_class, 3)
    adapters.save(model, optimizer, 3, place)
    train(model, optimizer, 2)
    wanted = weights(model)
    resumed, fresh = trained(optimizer_class, 0)
    if isinstance(place, io.BytesIO):
        place.seek(0)
    assert adapters.load(place, resumed, fresh) == 3
    train(resumed, fresh, 2)
    assert weights(resumed) == pytest.approx(wanted, abs=1e-6)
    assert not (tmp_path / "checkpoint").exists()


def test_no_step_here_writes_beyond_a_state_from_there(adapters: Any) -> None:
    """An optimizer takes over no state that is smaller than its parameters."""
    _, optimizer = trained(torch.optim.AdamW, 3)
    with pytest.raises(WorkerLostError, match="does not fit its parameter"):
        adapters.shrink_state(optimizer)
    assert not optimizer.param_groups[0]["fused"]


def test_generators_stay_one_shot_and_gradients_come_back(adapters: Any) -> None:
    """Parameters are pulled one by one; a gradient that is bound anew counts as changed."""
    parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(3)]
    for parameter in parameters[:2]:
        parameter.grad = torch.ones(2)
    adapters.clip((parameter for parameter in parameters), 1.0)
    assert [p.grad if p.grad is None else p.grad.tolist() for p in parameters] == [
        *([0.5, 0.5], [0.5, 0.5], None)
    ]


def test_text_is_pulled_as_it_is_needed(adapters: Any) -> None:
    """Of an endless stream, no more than one text is read ahead."""
    pulled = 0

    def endless() -> Iterator[str]:
        nonlocal pulled
        while True:
            pulled += 1
            yield "abc"

    ids = adapters.tokenizer().encode_iterable(endless())
    assert [next(ids) for _ in range(4)] == [97, 98, 99, 97]
    assert pulled == 2
    other = adapters.tokenizer().encode_iterable(iter(["xy", "z"]))
    assert [next(ids), next(other), next(ids), next(ids)] == [98, 120, 99, 97]
    assert (list(other), pulled) == ([121, 122], 3)


def test_what_iterates_over_a_list_is_sent_once_and_stays_one_shot(adapters: Any) -> None:
    """All items go along at once, the ones taken are gone there, and here none is left."""
    texts = iter(["xy", "z"])
    assert [adapters.take_one(texts), adapters.take_one(texts)] == ["xy", "z"]
    assert list(texts) == []
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.full((1,), 2.0)
    adapters.clip(iter([parameter]), 1.0)
    assert parameter.grad.item() == pytest.approx(1)


def test_an_iterator_that_fails_gives_what_it_had(adapters: Any) -> None:
    """Its items come first, then the exception, then the end."""
    items = adapters.failing()
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(SubmissionError, match="no third"):
        next(items)
    assert list(items) == []


def test_an_iterator_gives_no_more_than_can_be_taken_in(
    adapters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do several together."""
    monkeypatch.setattr("cs336_grader.running.conversation.MAX_ITEMS", 2500)
    first, second = adapters.endless(), adapters.endless()
    assert [next(first), next(second)] == [1, 1]
    with pytest.raises(WorkerLostError, match="more than 2,500 items"):
        list(first)


def test_files_are_found_over_there(adapters: Any, tmp_path: Path) -> None:
    """A file of a check, as path, as text, or mapped and mostly holes."""
    for text in ("grüße", "küsse"):
        (tmp_path / "text").write_text(text, encoding="utf-8")
        assert adapters.read(tmp_path / "text") == adapters.read(str(tmp_path / "text")) == text
    mapped = np.memmap(tmp_path / "big", "uint16", "w+", shape=(50_000_000,))
    mapped[-1] = 7
    mapped.flush()
    assert adapters.total(mapped) == ("memmap", 7)
    assert adapters.total(mapped[-20:])[1] == 7


def test_a_text_names_no_file_of_others(adapters: Any, tmp_path: Path) -> None:
    """Made of what the submission returned, it could name any file that this process can read."""
    (tmp_path / "link").symlink_to(__file__)
    for path in (__file__, "/proc/self/environ", f"{tmp_path}/link", f"{tmp_path}/../../passwd"):
        assert adapters.echo(path) == [path]


def test_the_global_generator_is_seeded_over_there(adapters: Any) -> None:
    """The same seed gives the numbers that it gives here."""
    adapters.manual_seed(5)
    numbers = adapters.random_numbers()
    adapters.manual_seed(5)
    expected = torch.rand(3, generator=torch.Generator().manual_seed(5))
    assert adapters.random_numbers().tolist() == numbers.tolist() == expected.tolist()


def test_what_is_to_be_compiled_runs_uncompiled(adapters: Any) -> None:
    """Compiling takes seconds in every process. Names are those of a compiled module."""
    uncompiled, doubled = adapters.compiled(torch.ones(2))
    assert (uncompiled, doubled.tolist()) == (True, [2.0, 2.0])
    assert adapters.compiled_names() == (["_orig_mod.weight", "_orig_mod.bias"], False)


def test_unusual_results_can_be_used(adapters: Any) -> None:
    """Objects that can only be iterated over, and numbers of other kinds."""
    assert list(adapters.words()) == ["one", "two"]
    assert adapters.fraction() == 0.25


def test_an_exception_arrives_as_text(adapters: Any) -> None:
    """With its type, what it says and where it was raised; even an exit is one."""
    with pytest.raises(SubmissionError, match=r"Your read raised FileNotFoundError: .*adapters.py"):
        adapters.read("/nowhere")
    with pytest.raises(SubmissionError, match="SystemExit"):
        adapters.raise_exit()
    with pytest.raises(SubmissionError, match="no attribute 'missing'"):
        adapters.missing()
