"""The wire carries plain values exactly, and refuses everything else."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from decimal import Decimal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cs336_grader.worker.channel import MAX_HEADER_BYTES, Channel, WireError
from cs336_grader.worker.values import DTYPES, Decoder, Encoder

text = st.text(st.characters(codec="utf-8"))
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), text, st.binary()),
    st.binary(min_size=2000),
)
hashable = st.integers() | text | st.binary() | st.tuples(st.integers(), st.binary())
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(hashable, inner),
)


@contextmanager
def sending(connection: socket.socket, data: bytes) -> Iterator[None]:
    """Send meanwhile: what a socket holds unread is limited."""
    sender = threading.Thread(target=send, args=(connection, data))
    sender.start()
    yield
    connection.shutdown(socket.SHUT_RDWR)
    sender.join()


def send(connection: socket.socket, data: bytes) -> None:
    """Send until the other side has had enough."""
    with suppress(OSError):
        connection.sendall(data)


def carried(value: object) -> object:
    """The value after it crossed a real socket."""
    ours, theirs = socket.socketpair()
    encoder = Encoder()
    frame = Channel.frame({"op": "value", "value": encoder.encode(value)}, encoder.buffers)
    with ours, theirs, sending(ours, b"".join(frame)):
        message, buffers = Channel(theirs).receive()
    return Decoder(buffers).decode(message["value"])


@given(values)
def test_plain_values_arrive_as_they_were(value: object) -> None:
    """Nested in any way; repr shows no difference."""
    assert repr(carried(value)) == repr(value)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_tensors_arrive_as_they_were(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Values to the bit, dtype and shape; the memory is their own."""
    tensor = (torch.arange(24)[: max(1, int(np.prod(shape)))].float() * 0.37).to(dtype)
    tensor = tensor[: int(np.prod(shape))].reshape(shape)
    arrived = carried(tensor)
    assert isinstance(arrived, torch.Tensor)
    assert (arrived.dtype, arrived.shape) == (tensor.dtype, tensor.shape)
    assert arrived.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()
    assert arrived.tolist() == tensor.tolist()


def test_unusual_tensors_arrive_dense_and_plain() -> None:
    """A subclass, a view and a sparse tensor arrive as plain values; meta has no values."""
    base = torch.arange(6.0).reshape(2, 3)
    single, empty = base[:1, ::3], base[:0, ::2]
    views = (base.T, base[:, ::2], single, single[0], empty, empty[..., 0])
    conjugate = torch.tensor([1j, 2.0]).conj()
    for tensor in (*views, conjugate, conjugate.imag, torch.nn.Parameter(base), base.to_sparse()):
        arrived = carried(tensor)
        assert type(arrived) is torch.Tensor
        assert arrived.tolist() == tensor.detach().to_dense().tolist()
    meta = carried(torch.empty(2, 3, dtype=torch.int64, device="meta"))
    assert isinstance(meta, torch.Tensor)
    assert (meta.device.type, meta.shape, meta.dtype) == ("meta", (2, 3), torch.int64)


def test_numpy_values_arrive() -> None:
    """Arrays stay arrays, NumPy's scalars become Python's, half a surrogate pair a mark."""
    assert carried("\ud800") == "?"
    array = carried(np.arange(6, dtype=np.uint16).reshape(2, 3).T)
    assert isinstance(array, np.ndarray)
    assert (array.dtype, array.tolist()) == (np.uint16, [[0, 3], [1, 4], [2, 5]])
    swapped = carried(np.array([1, 258], dtype=">i4"))
    assert isinstance(swapped, np.ndarray)
    assert swapped.tolist() == [1, 258]
    assert repr(carried([np.int64(3), Decimal("0.5")])) == "[3, 0.5]"


class Trap:
    """An object that must never be called, compared or unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        raise AssertionError


@pytest.mark.parametrize("value", [Trap(), Trap, print, {"a": [Trap()]}, np.array([Trap()])])
def test_objects_do_not_cross(value: object) -> None:
    """What is no plain value is refused by the side that would send it."""
    with pytest.raises(WireError):
        Encoder().encode(value)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Channel]]:
    """A raw end, and a channel at the other."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, Channel(theirs)


def frame(content: object) -> bytes:
    """A frame with any header."""
    header = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack(">I", len(header)) + header


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">I", MAX_HEADER_BYTES + 1),
        frame(b"no json"),
        frame(b"\xff\xfe"),
        frame(b"[" * 100_000),
        frame({"op": "value"}),
        frame([{"op": "value"}]),
        frame([{"op": "value"}, [-1]]),
        frame([{"op": "value"}, [True]]),
        frame([{"op": "value"}, ["1"]]),
        frame([{"op": "value"}, [2**40]]),
        frame([{"op": "value"}, [0] * 100_001]),
        frame([[], []]),
        frame([{"op": 5}, []]),
        frame([{}, []]),
    ],
)
def test_what_is_no_frame_is_refused(pair: tuple[socket.socket, Channel], sent: bytes) -> None:
    """Refused before any memory of the size it claims is taken."""
    raw, channel = pair
    with sending(raw, sent), pytest.raises(WireError):
        channel.receive()


def test_a_broken_frame_is_an_end(pair: tuple[socket.socket, Channel]) -> None:
    """The other side may vanish in the middle."""
    raw, channel = pair
    raw.sendall(frame([{"op": "value"}, [100]]) + b"only this")
    raw.close()
    with pytest.raises(EOFError):
        channel.receive()


def test_keys_of_one_hash_are_refused() -> None:
    """Dictionaries and sets of such keys take quadratic time, all of a frame together."""
    same = [i * (2**61 - 1) for i in range(1, 1001)]
    alike = [["tuple", [-1 - (i >> bit & 1) for bit in range(10)]] for i in range(1000)]
    for keys in (same, alike[:250]):
        for node in (["set", keys], ["frozenset", keys], ["dict", keys, [None] * len(keys)]):
            assert len(Decoder([]).decode(node)) == len(keys)
            with pytest.raises(WireError):
                Decoder([]).decode(["list", [node] * 3])
    with pytest.raises(WireError):
        Decoder([]).decode(["set", [["frozenset", [key]] for key in alike]])
    assert len(carried({(i, i): i for i in range(900)})) == 900  # type: ignore[arg-type]
    assert len(carried(dict.fromkeys(range(5000)))) == 5000  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["tensor", "ndarray"])
def test_what_is_neither_true_nor_false_is_refused(kind: str) -> None:
    """Whether such a value equals another depends on how they are compared."""
    for byte, refused in ((0, False), (1, False), (2, True), (255, True)):
        with pytest.raises(WireError) if refused else nullcontext():
            Decoder([memoryview(bytearray([0, byte]))]).decode([kind, 0, "bool", [2]])


@pytest.mark.parametrize(
    "node",
    [
        {},
        [],
        ["unknown"],
        [["list"], []],
        ["list"],
        ["list", 3],
        ["list", {}],
        ["list", "text"],
        ["dict", [1], []],
        ["dict", [["list", []]], [1]],
        ["bytes", None],
        ["bytes", 1],
        ["bytes", "\u0100"],
        ["list", [["bytes", 0], ["bytes", 0]]],
        ["tensor", 0, "int8", [10**4000] * 1000],
        ["tensor", 0, "int8", [0, 2**63]],
        ["tensor", 0, "float32", [2**40]],
        ["tensor", 0, "float32", [-1]],
        ["tensor", 0, "float32", [1.5]],
        ["tensor", 0, "float32", [True]],
        ["tensor", 0, "object", [1]],
        ["tensor", 7, "float32", [1]],
        ["ndarray", 0, "object", [1]],
        ["ndarray", 0, "bfloat16", [1]],
        ["meta", "float32", [2**62, 2**62]],
        ["device", "nowhere"],
        ["dtype", "object"],
    ],
)
def test_what_is_no_value_is_refused(node: object) -> None:
    """Whatever the header says, the decoder raises one kind of exception."""
    with pytest.raises(WireError):
        Decoder([memoryview(bytearray(b"\xff" * 8))]).decode(node)
