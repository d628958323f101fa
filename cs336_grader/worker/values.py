"""The values that cross the border, as nodes of a frame's header and its buffers.

Every value has an exact type, and none can execute:

    None, True, 3, 0.5, "text"       themselves
    ["list", nodes]                  also tuple, set and frozenset
    ["dict", nodes, nodes]           keys and values
    ["bytes", text]                  one character a byte; also bytearray
    ["bytes", buffer]                many bytes
    ["tensor", buffer, dtype, shape] a dense tensor; also ndarray
    ["meta", dtype, shape]           a tensor without data
    ["dtype", name], ["device", name]

Nodes are a list; those of bytes alone, or of tuples alone, are put together, as a vocabulary of
fifty thousand tokens would take a second:

    {"bytes": text, "sizes": numbers}, {"tuples": nodes of all their items, "sizes": numbers}

A buffer is named by its number. Other tags belong to the module that passes a function for them.
ENCODERS and DECODERS have one line for each type and tag.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate, chain
from numbers import Real
from typing import Any

import numpy as np
import torch

from .channel import MAX_BODY_BYTES, Node, WireError

MAX_DIMENSIONS = 64
MAX_SIZE = 2**48
# Beyond this, integers can be chosen that have one hash: a set compares each of them with all.
MAX_INTEGER, MAX_HUGE_INTEGERS = 2**61 - 2, 2000
# The same holds for tuples and frozensets: so many items may all keys of a frame have.
MAX_KEY_ITEMS = 3000
# More bytes than this are shorter in a buffer than as text.
MAX_BYTES_AS_TEXT = 2**10

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
        *(torch.bool, torch.complex64, torch.complex128),
    )
}
# They are their own nodes.
NUMBERS = {int, float, bool, type(None)}
ARRAY_DTYPES = frozenset(DTYPES) - {"bfloat16"}


class Encoder:
    """Turns values into nodes and buffers.

    Args:
        special: asked first about every value but numbers, bytes and tuples; returns its node,
            or None for "as usual".
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
        """Return the node of a value.

        Raises:
            WireError: the border does not carry values of this type.
        """
        if value is None or type(value) in (bool, int, float):
            return value
        if type(value) is bytes:
            return encode_bytes(self, value)
        if type(value) is tuple:
            return ["tuple", self.items(value)]
        if self.special is not None and (node := self.special(self, value)) is not None:
            return node
        return self.encode_value(value)

    def encode_value(self, value: object) -> Node:
        """Return the node of a value, also of a special one; subclasses arrive as plain values."""
        for types, encode in ENCODERS:
            if isinstance(value, types):
                return encode(self, value)
        raise WireError(f"a value of type {type(value).__name__} cannot be passed on")

    def items(self, values: Any) -> Node:
        """Return the nodes of a sequence."""
        kinds = set(map(type, values))
        if kinds <= NUMBERS:
            return list(values)
        sizes = list(map(len, values)) if kinds in ({bytes}, {tuple}) else []
        if kinds == {bytes} and max(sizes) <= MAX_BYTES_AS_TEXT:
            return {"bytes": b"".join(values).decode("latin-1"), "sizes": sizes}
        if kinds == {tuple}:
            return {"tuples": self.items(list(chain.from_iterable(values))), "sizes": sizes}
        return [self.encode(value) for value in values]

    def buffer(self, data: memoryview) -> int:
        """Add a buffer; return its number."""
        self.buffers.append(data)
        return len(self.buffers) - 1


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
        self.decoders = DECODERS | (special or {})
        self.key_items = 0
        self.huge_integers = 0

    def decode(self, node: Node) -> Any:
        """Return the value of a node.

        Raises:
            WireError: the node is not as agreed.
        """
        if type(node) is int and abs(node) > MAX_INTEGER:
            self.huge_integers += 1
            if self.huge_integers > MAX_HUGE_INTEGERS:
                raise WireError(f"more than {MAX_HUGE_INTEGERS:,} integers of over 61 bits")
        if type(node) is dict:
            raise WireError("an object where a value is agreed")
        if type(node) is not list:
            return node
        try:
            tag, *rest = node
            return self.decoders[tag](self, *rest)
        except WireError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, RuntimeError) as error:
            raise WireError(f"a value that is not as agreed ({type(error).__name__})") from error

    def items(self, nodes: Node) -> list[Any]:
        """Return the values of a sequence."""
        if type(nodes) is dict:
            return self.parts(nodes["sizes"], nodes.get("bytes"), nodes.get("tuples"))
        if type(nodes) is not list:
            raise WireError("a sequence that is not as agreed")
        if set(map(type, nodes)) == {int} and max(map(abs, nodes)) <= MAX_INTEGER:
            return nodes
        return [self.decode(node) for node in nodes]

    def parts(self, sizes: list[int], text: str | None, nodes: Node) -> list[Any]:
        """Return bytes or tuples that were put together."""
        whole = tuple(self.items(nodes)) if text is None else text.encode("latin-1")
        if not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) != len(whole):
            raise WireError("parts that are not the whole")
        return [whole[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]

    def keys(self, nodes: Node) -> list[Any]:
        """Return the keys of a dictionary or the items of a set.

        Raises:
            WireError: they may have been chosen to have one hash, and are too many for that.
        """
        values = self.items(nodes)
        self.key_items += sum(number_of_items(value) for value in values)
        if self.key_items > MAX_KEY_ITEMS:
            raise WireError(f"more than {MAX_KEY_ITEMS:,} items in keys that are tuples")
        return values

    def take(self, buffer: int) -> memoryview:
        """Return a buffer, once: naming it again and again must not multiply a frame."""
        data = self.buffers[buffer]
        self.buffers[buffer] = None
        if data is None:
            raise WireError("a buffer that is named twice")
        return data


def number_of_items(key: object) -> int:
    """Return how many objects there are to compare in a key, if it is a tuple or frozenset."""
    if not isinstance(key, (tuple, frozenset)):
        return 0
    return 1 + len(key) + sum(map(number_of_items, key))


def encode_bytes(encoder: Encoder, value: bytes | bytearray) -> Node:
    """Return the node of bytes or of a bytearray."""
    tag = "bytes" if isinstance(value, bytes) else "bytearray"
    short = len(value) <= MAX_BYTES_AS_TEXT
    return [tag, value.decode("latin-1") if short else encoder.buffer(memoryview(bytes(value)))]


def decode_bytes(decoder: Decoder, content: str | int) -> bytes:
    """Return bytes."""
    if isinstance(content, str):
        return content.encode("latin-1")
    return bytes(decoder.take(content))


def encode_tensor(encoder: Encoder, tensor: torch.Tensor) -> Node:
    """Return the node of a tensor: a plain, dense copy of its values in main memory."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise WireError(f"a tensor of dtype {dtype} cannot be passed on")
    shape = list(tensor.shape)
    if tensor.device.type == "meta":
        return ["meta", dtype, shape]
    if tensor.numel() * tensor.element_size() > MAX_BODY_BYTES:
        raise WireError(f"a tensor of shape {tuple(shape)} is too large")
    return ["tensor", encoder.buffer(raw(tensor)), dtype, shape]


def decode_tensor(decoder: Decoder, buffer: int, dtype: str, shape: list[int]) -> torch.Tensor:
    """Return a tensor in memory of its own."""
    data = expect_elements(decoder.take(buffer), DTYPES[dtype].itemsize, dtype, shape)
    if not len(data):
        return torch.empty(shape, dtype=DTYPES[dtype])
    return torch.frombuffer(data, dtype=DTYPES[dtype]).reshape(shape)


def decode_meta(_decoder: Decoder, dtype: str, shape: list[int]) -> torch.Tensor:
    """Return a tensor without data."""
    return torch.empty(expect_shape(shape), dtype=DTYPES[dtype], device="meta")


def encode_array(encoder: Encoder, value: np.ndarray[Any, Any]) -> Node:
    """Return the node of a NumPy array."""
    name = value.dtype.name
    if name not in ARRAY_DTYPES or value.nbytes > MAX_BODY_BYTES:
        raise WireError(f"an array of {value.size} {name} cannot be passed on")
    plain = np.ascontiguousarray(value, value.dtype.newbyteorder("=")).reshape(-1)
    return ["ndarray", encoder.buffer(plain.view(np.uint8).data), name, list(value.shape)]


def decode_array(decoder: Decoder, buffer: int, dtype: str, shape: list[int]) -> object:
    """Return a NumPy array in memory of its own."""
    if dtype not in ARRAY_DTYPES:
        raise WireError(f"an array of {dtype}")
    data = expect_elements(decoder.take(buffer), np.dtype(dtype).itemsize, dtype, shape)
    return np.frombuffer(data, dtype=dtype).reshape(shape)


SEQUENCES = (list, tuple, set, frozenset)
ENCODERS: tuple[tuple[Any, Callable[[Encoder, Any], Node]], ...] = (
    (str, lambda _, value: str.encode(value, "utf-8", "replace").decode()),
    ((bytes, bytearray), encode_bytes),
    *(
        (kind, lambda encoder, value, tag=kind.__name__: [tag, encoder.items(value)])
        for kind in SEQUENCES
    ),
    (dict, lambda encoder, value: ["dict", encoder.items(value), encoder.items(value.values())]),
    (torch.Tensor, encode_tensor),
    (np.ndarray, encode_array),
    (np.generic, lambda encoder, value: encoder.encode(value.item())),
    (torch.dtype, lambda _, value: ["dtype", str(value).removeprefix("torch.")]),
    (torch.device, lambda _, value: ["device", str(value)]),
    (int, lambda _, value: int(value)),
    ((Real, Decimal), lambda _, value: float(value)),
)
DECODERS: dict[str, Callable[..., object]] = {
    "bytes": decode_bytes,
    "bytearray": lambda decoder, content: bytearray(decode_bytes(decoder, content)),
    "list": Decoder.items,
    "tuple": lambda decoder, nodes: tuple(decoder.items(nodes)),
    "set": lambda decoder, nodes: set(decoder.keys(nodes)),
    "frozenset": lambda decoder, nodes: frozenset(decoder.keys(nodes)),
    "dict": lambda decoder, keys, values: dict(
        zip(decoder.keys(keys), decoder.items(values), strict=True)
    ),
    "tensor": decode_tensor,
    "meta": decode_meta,
    "ndarray": decode_array,
    "dtype": lambda _, name: DTYPES[name],
    "device": lambda _, name: torch.device(name),
}


def raw(tensor: torch.Tensor) -> memoryview:
    """Return the bytes of a tensor's values, in row-major order."""
    plain = torch.Tensor.detach(tensor)
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    plain = plain.cpu().resolve_conj().resolve_neg().contiguous()
    if plain.numel() <= 1:
        # It counts as contiguous with any stride, and a view as bytes needs one of 1.
        plain = plain.clone(memory_format=torch.contiguous_format)
    return plain.reshape(-1).view(torch.uint8).numpy().data


def without_repeats(tensor: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """Return the part of a tensor that holds each element once.

    Args:
        tensor: of the shape of an expanded tensor.
        stride: of the expanded tensor; it is 0 along the expanded dimensions.
    """
    return tensor[tuple(slice(None if step else 1) for step in stride)]


def expect_shape(shape: list[int]) -> list[int]:
    """Return a shape, if it is one."""
    if len(shape) > MAX_DIMENSIONS or not all(type(size) is int and size >= 0 for size in shape):
        raise WireError("a shape that is not as agreed")
    # Strides are computed from all sizes, also where one of them is zero.
    if math.prod(filter(None, shape)) > MAX_SIZE:
        raise WireError("a shape that is larger than memory")
    return shape


def expect_elements(data: memoryview, itemsize: int, dtype: str, shape: list[int]) -> memoryview:
    """Return a buffer, if it holds exactly a shape's elements.

    Comparisons with a truth value that is neither true nor false can have any result.
    """
    if len(data) != math.prod(expect_shape(shape)) * itemsize:
        raise WireError("a buffer whose size does not match its shape")
    if dtype == "bool" and len(data) and np.frombuffer(data, dtype=np.uint8).max() > 1:
        raise WireError("a truth value that is neither true nor false")
    return data


def is_plain(value: object) -> bool:
    """Return True for a scalar, a tuple of scalars, or a tensor of one number."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and not value.is_meta
    return value is None or type(value) in (bool, int, float, str)
