"""The values that cross the border, as nodes of a frame's header and its buffers.

Every value has an exact type, and none can execute:

    None, True, 3, 0.5, "text"      themselves
    ["list", sequence]              also tuple, set and frozenset
    ["dict", sequence, sequence]    keys and values
    ["bytes", buffer]               bytes; also bytearray
    ["text", buffer]                a long text
    ["tensor", buffer, dtype, shape]   a dense tensor; also ndarray
    ["meta", dtype, shape]          a tensor without data
    ["dtype", name], ["device", name]

A sequence is ["items", nodes], or compactly ["ints", buffer], ["blobs", buffer, lengths] and, for
tuples of one length, ["rows", length, sequence]. Other tags belong to whoever passes a function for
them.
"""

import contextlib
import math
from array import array
from collections.abc import Callable, Iterable, Sequence, Set
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import torch

from .channel import MAX_BODY_BYTES, Node, WireError

MAX_DIMENSIONS = 64
MAX_SIZE = 2**48
# Integers beyond this may have one hash: a set of many is compared in pairs.
MAX_INTEGER, MAX_HUGE_INTEGERS = 2**61 - 2, 2000
# How often keys of one hash may be compared, in all dictionaries and sets of a frame.
MAX_COMPARISONS = 3 * 10**6
# Each takes many times the space here that it takes in a frame.
MAX_ITEMS = 2**24
# Fewer integers than this are as short in JSON.
COMPACT_FROM = 16
# Text that is longer crosses as it is, and is not written out in JSON.
LONG_TEXT_BYTES = 2**12
# Four times as much here where it holds a single unusual character.
MAX_TEXT_BYTES = 2**24

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
        *(torch.bool, torch.complex64, torch.complex128),
    )
}
ARRAY_DTYPES = frozenset(DTYPES) - {"bfloat16"}


class Encoder:
    """Turns values into nodes and buffers.

    Args:
        special: asked first about every value that is no number; returns its node, or None for
            "as usual".
        buffers: those that the frame has already; more are added to them.
    """

    def __init__(
        self,
        special: Callable[["Encoder", object], Node] | None = None,
        buffers: list[memoryview] | None = None,
    ) -> None:
        self.special = special
        self.buffers = [] if buffers is None else buffers

    def encode(self, value: object) -> Node:
        """The node of a value.

        Raises:
            WireError: the border does not carry values of this type.
        """
        if value is None or type(value) in (bool, int, float):
            return value
        if self.special is not None and (node := self.special(self, value)) is not None:
            return node
        if type(value) is str:
            # Lone surrogates are no text that UTF-8 can carry.
            text = value.encode("utf-8", "replace")
            if len(text) < LONG_TEXT_BYTES:
                return text.decode()
            return ["text", self.buffer(memoryview(text))]
        return self.encode_value(value)

    def encode_value(self, value: object) -> Node:
        """The node of a value that is no exact scalar; subclasses arrive as plain values."""
        for types, encode in ENCODERS:
            if isinstance(value, types):
                return encode(self, value)
        raise WireError(f"a value of type {type(value).__name__} cannot be passed on")

    def encode_sequence(self, value: Sequence[object] | Set[object]) -> Node:
        """The node of a list, tuple or set."""
        tag = next(tag for tag, types in SEQUENCES.items() if isinstance(value, types))
        return [tag, self.encode_items(list(value))]

    def encode_dict(self, value: dict[object, object]) -> Node:
        """The node of a dictionary."""
        return ["dict", self.encode_items(list(value)), self.encode_items(list(value.values()))]

    def encode_items(self, items: list[object]) -> Node:
        """The node of a sequence, compact where all items are integers or bytes."""
        # One type for all, looked at by C code: a vocabulary has tens of thousands.
        kinds = set(map(type, items)) if len(items) >= COMPACT_FROM else set()
        if kinds == {int}:
            with contextlib.suppress(OverflowError):
                return ["ints", self.buffer(int64(items))]
        if kinds == {bytes}:
            blobs: list[Any] = items
            joined = self.buffer(memoryview(b"".join(blobs)))
            return ["blobs", joined, self.buffer(int64(map(len, blobs)))]
        if kinds == {tuple}:
            rows: list[Any] = items
            width = len(rows[0])
            if width and set(map(len, rows)) == {width}:
                return ["rows", width, self.encode_items(list(chain.from_iterable(rows)))]
        return ["items", [self.encode(item) for item in items]]

    def encode_tensor(self, tensor: torch.Tensor) -> Node:
        """The node of a tensor: a plain, dense copy of its values in main memory."""
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise WireError(f"a tensor of dtype {dtype} cannot be passed on")
        shape = list(tensor.shape)
        if tensor.device.type == "meta":
            return ["meta", dtype, shape]
        if tensor.numel() * tensor.element_size() > MAX_BODY_BYTES:
            raise WireError(f"a tensor of shape {tuple(shape)} is too large")
        return ["tensor", self.buffer(raw(tensor)), dtype, shape]

    def encode_array(self, value: np.ndarray[Any, Any]) -> Node:
        """The node of a NumPy array."""
        if value.dtype.name not in ARRAY_DTYPES or value.nbytes > MAX_BODY_BYTES:
            raise WireError(f"an array of {value.size} {value.dtype.name} cannot be passed on")
        native = value.dtype.newbyteorder("=")
        plain = np.ascontiguousarray(value, native).reshape(-1)
        return [
            "ndarray",
            self.buffer(plain.view(np.uint8).data),
            value.dtype.name,
            list(value.shape),
        ]

    def buffer(self, data: memoryview) -> int:
        """Add a buffer; its number."""
        self.buffers.append(data)
        return len(self.buffers) - 1


SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
ENCODERS: tuple[tuple[Any, Callable[[Encoder, Any], Node]], ...] = (
    (torch.Tensor, Encoder.encode_tensor),
    (np.ndarray, Encoder.encode_array),
    (np.generic, lambda encoder, value: encoder.encode(value.item())),
    ((list, tuple, set, frozenset), Encoder.encode_sequence),
    (dict, Encoder.encode_dict),
    (bytes, lambda encoder, value: ["bytes", encoder.buffer(memoryview(value))]),
    (bytearray, lambda encoder, value: ["bytearray", encoder.buffer(memoryview(bytes(value)))]),
    (torch.dtype, lambda _, value: ["dtype", str(value).removeprefix("torch.")]),
    (torch.device, lambda _, value: ["device", str(value)]),
    (int, lambda _, value: int(value)),
    ((Real, Decimal), lambda _, value: float(value)),
    (str, lambda encoder, value: encoder.encode(str(value))),
)


def int64(numbers: Iterable[Any]) -> memoryview:
    """The bytes of integers.

    Raises:
        OverflowError: one of them has more than 64 bits.
    """
    return memoryview(array("q", numbers)).cast("B")


def raw(tensor: torch.Tensor) -> memoryview:
    """The bytes of a tensor's values, in row-major order."""
    plain = torch.Tensor.detach(tensor)
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    plain = plain.cpu().resolve_conj().resolve_neg().contiguous()
    if plain.numel() <= 1:
        # It counts as contiguous with any stride, and a view as bytes needs one of 1.
        plain = plain.clone(memory_format=torch.contiguous_format)
    return plain.reshape(-1).view(torch.uint8).numpy().data


def without_repeats(tensor: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """The part of a tensor that holds each element once, of one that is expanded by a stride of 0.

    Args:
        tensor: a tensor of the expanded shape.
        stride: of the expanded tensor.
    """
    return tensor[tuple(slice(None if step else 1) for step in stride)]


class Decoder:
    """Turns nodes and buffers back into values.

    Args:
        buffers: the frame's buffers.
        special: what to do with tags that are not this module's, by tag.
    """

    def __init__(
        self,
        buffers: Sequence[memoryview],
        special: dict[str, Callable[..., object]] | None = None,
    ) -> None:
        self.buffers: list[memoryview | None] = list(buffers)
        self.special = special or {}
        self.comparisons = 0
        self.huge_integers = 0

    def take(self, buffer: int) -> memoryview:
        """A buffer, once: a frame may not be multiplied by naming its buffers again and again."""
        data = self.buffers[buffer]
        self.buffers[buffer] = None
        if data is None:
            raise WireError("a buffer that is named twice")
        return data

    def decode(self, node: Node) -> Any:
        """The value of a node.

        Raises:
            WireError: the node is not as agreed.
        """
        if not isinstance(node, list):
            if isinstance(node, dict):
                raise WireError("an object where a value is agreed")
            if type(node) is int and abs(node) > MAX_INTEGER:
                self.huge_integers += 1
                if self.huge_integers > MAX_HUGE_INTEGERS:
                    raise WireError(f"more than {MAX_HUGE_INTEGERS:,} integers of over 61 bits")
            return node
        try:
            tag, *rest = node
            if tag in self.special:
                return self.special[tag](self, *rest)
            return getattr(self, f"decode_{TAGS[tag]}")(tag, *rest)
        except WireError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, RuntimeError) as error:
            raise WireError(f"a value that is not as agreed ({type(error).__name__})") from error

    def decode_sequence(self, tag: str, items: Node) -> object:
        """A list, tuple or set."""
        values = self.items(items)
        if tag in ("set", "frozenset"):
            self.expect_quick_hashes(values)
        return SEQUENCES[tag](values)

    def decode_dict(self, _tag: str, keys: Node, values: Node) -> dict[object, object]:
        """A dictionary."""
        names = self.items(keys)
        self.expect_quick_hashes(names)
        return dict(zip(names, self.items(values), strict=True))

    def decode_bytes(self, tag: str, buffer: int) -> bytes | bytearray:
        """Bytes or a bytearray."""
        data = self.take(buffer)
        return bytes(data) if tag == "bytes" else bytearray(data)

    def decode_text(self, _tag: str, buffer: int) -> str:
        """A long text."""
        data = self.take(buffer)
        if len(data) > MAX_TEXT_BYTES:
            raise WireError(f"a text of {len(data):,} bytes is too long")
        return str(data, "utf-8")

    def decode_tensor(self, _tag: str, buffer: int, dtype: str, shape: list[int]) -> torch.Tensor:
        """A tensor in memory of its own."""
        data = self.take(buffer)
        expect_size(data, shape, DTYPES[dtype].itemsize)
        expect_truth(data, dtype)
        if not len(data):
            return torch.empty(shape, dtype=DTYPES[dtype])
        return torch.frombuffer(data, dtype=DTYPES[dtype]).reshape(shape)

    def decode_array(self, _tag: str, buffer: int, dtype: str, shape: list[int]) -> object:
        """A NumPy array in memory of its own."""
        if dtype not in ARRAY_DTYPES:
            raise WireError(f"an array of {dtype}")
        data = self.take(buffer)
        expect_size(data, shape, np.dtype(dtype).itemsize)
        expect_truth(data, dtype)
        return np.frombuffer(data, dtype=dtype).reshape(shape)

    def decode_meta(self, _tag: str, dtype: str, shape: list[int]) -> torch.Tensor:
        """A tensor without data."""
        return torch.empty(checked(shape), dtype=DTYPES[dtype], device="meta")

    def decode_name(self, tag: str, name: str) -> object:
        """A dtype or a device."""
        return DTYPES[name] if tag == "dtype" else torch.device(name)

    def expect_quick_hashes(self, keys: list[Any]) -> None:
        """Refuse many keys that may have been chosen to have one hash: each is compared with all.

        Raises:
            WireError: they are too many, or too long, for what they are.
        """
        kinds = set(map(type, keys))
        integers = [key for key in keys if type(key) is int]
        if kinds <= {int, str, bytes} and max(map(abs, integers), default=0) < MAX_SIZE:
            return
        self.comparisons += len(keys) * sum(map(parts, keys))
        if self.comparisons > MAX_COMPARISONS:
            raise WireError("too many keys that are no text, bytes or ordinary integers")

    def items(self, node: Node) -> list[Any]:
        """The items of a sequence."""
        tag, *rest = node
        if tag == "items":
            return [self.decode(item) for item in rest[0]]
        if tag == "ints":
            return list(numbers(self.take(rest[0])).tolist())
        if tag == "blobs":
            data = self.take(rest[0])
            lengths = numbers(self.take(rest[1]))
            if (lengths < 0).any() or (lengths > len(data)).any() or lengths.sum() != len(data):
                raise WireError("lengths that are not as agreed")
            ends = np.cumsum(lengths).tolist()
            joined = bytes(data)
            return [joined[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        if tag == "rows":
            width, flat = rest[0], self.items(rest[1])
            if type(width) is not int or not 0 < width <= len(flat) or len(flat) % width:
                raise WireError("rows that are not as agreed")
            return list(zip(*[iter(flat)] * width, strict=True))
        raise WireError("a sequence that is not as agreed")


TAGS = {
    **dict.fromkeys(SEQUENCES, "sequence"),
    **dict.fromkeys(("dtype", "device"), "name"),
    **dict.fromkeys(("bytes", "bytearray"), "bytes"),
    "dict": "dict",
    "text": "text",
    "tensor": "tensor",
    "ndarray": "array",
    "meta": "meta",
}


def checked(shape: list[int]) -> list[int]:
    """The shape, if it is one."""
    if len(shape) > MAX_DIMENSIONS or not all(type(size) is int and size >= 0 for size in shape):
        raise WireError("a shape that is not as agreed")
    # Strides are computed from all sizes, also where one of them is zero.
    if math.prod(filter(None, shape)) > MAX_SIZE:
        raise WireError("a shape that is larger than memory")
    return shape


def parts(key: object) -> int:
    """How much there is to compare in a key: a tuple and all that it holds."""
    return 1 + sum(map(parts, key)) if type(key) is tuple else 1


def numbers(data: memoryview) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The integers in a buffer."""
    if len(data) > MAX_ITEMS * 8:
        raise WireError(f"a sequence of {len(data) // 8:,} items is too long")
    return np.frombuffer(data, dtype=np.int64)


def expect_truth(data: memoryview, dtype: str) -> None:
    """Refuse what is neither true nor false: comparisons with it can have any result."""
    if dtype == "bool" and len(data) and np.frombuffer(data, dtype=np.uint8).max() > 1:
        raise WireError("a truth value that is neither true nor false")


def expect_size(data: memoryview, shape: list[int], itemsize: int) -> None:
    """Refuse a buffer that does not hold exactly a shape's elements."""
    if len(data) != math.prod(checked(shape)) * itemsize:
        raise WireError("a buffer whose size does not match its shape")


def is_plain(value: object) -> bool:
    """Return True for a scalar, a tuple of scalars, or a tensor of one number."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and not value.is_meta
    return value is None or type(value) in (bool, int, float, str)
