"""Read numbers out of a pickle without running anything in it.

A pickle is a program for a small stack machine whose instructions may call any function. This
machine knows the instructions and calls nothing: where a pickle says "call f with x" it notes
that it said so. Arrays are then rebuilt from their bytes. What AI4DL wrote comes in two forms:
plain pickles, and joblib files, which put the bytes of an array right behind its description.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from prophase.array_types import Array
from prophase.errors import ModelFileError, storage_error
from prophase.json_types import JsonObject

#: larger files are refused
_MOST_BYTES = 512 << 20
_NUMBERS = "fiub"


@dataclass
class Noted:
    """A call or an object that a pickle asks for: its name, arguments and state."""

    name: str
    arguments: Any = ()
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


def read_without_running(path: Path | str) -> Any:
    """Return what a pickle holds: plain values, arrays, and `Noted` for everything else.

    Raises
    ------
    ModelFileError
        The file is no pickle, is compressed, is cut off, or uses an instruction that model
        files do not need.
    """
    source = Path(path)
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise ModelFileError(f"{source}: is larger than any AI4DL model. Check the path.")
        with source.open("rb") as stream:
            start = stream.read(2)
            if start[:1] != b"\x80":
                raise ModelFileError(
                    f"{source}: is not a plain pickle (it begins with {start!r}). Save the model "
                    "without compression, or export its weights to .npz."
                )
            stream.seek(0)
            return _run(source, stream)
    except OSError as cause:
        raise storage_error(cause, source) from cause


def _run(source: Path, stream: BinaryIO) -> Any:
    machine = _Machine(source, stream)
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            if opcode.name == "STOP":
                return machine.stack[-1]
            machine.step(opcode.name, argument)
    except ModelFileError:
        raise
    except Exception as cause:
        raise ModelFileError(
            f"{source}: cannot be read as a model ({cause}). It is cut off or damaged; copy it "
            "again."
        ) from cause
    raise ModelFileError(f"{source}: ends before the model is complete. Copy it again.")


class _Machine:
    """The stack of a pickle, without the power to call."""

    def __init__(self, source: Path, stream: BinaryIO) -> None:
        self.source = source
        self.stream = stream
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memory: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(_VALUES[name]() if callable(_VALUES[name]) else _VALUES[name])
        elif name in _ARGUMENT:
            self.stack.append(argument)
        elif hasattr(self, f"_{name.lower()}"):
            getattr(self, f"_{name.lower()}")(argument)
        elif name not in ("PROTO", "FRAME"):
            raise ModelFileError(
                f"{self.source}: uses the pickle instruction {name}, which a model does not need. "
                "Do not load this file anywhere; ask where it came from."
            )

    # marks and memory

    def _mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def _popped(self) -> list[Any]:
        place = self.marks.pop()
        found = self.stack[place:]
        del self.stack[place:]
        return found

    def _memoize(self, _: Any) -> None:
        self.memory[len(self.memory)] = self.stack[-1]

    def _binput(self, place: int) -> None:
        self.memory[place] = self.stack[-1]

    _long_binput = _put = _binput

    def _binget(self, place: int) -> None:
        self.stack.append(self.memory[place])

    _long_binget = _get = _binget

    def _pop(self, _: Any) -> None:
        self.stack.pop()

    # containers

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._popped()))

    def _tuple1(self, _: Any) -> None:
        self._last_as_tuple(1)

    def _tuple2(self, _: Any) -> None:
        self._last_as_tuple(2)

    def _tuple3(self, _: Any) -> None:
        self._last_as_tuple(3)

    def _last_as_tuple(self, count: int) -> None:
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def _list(self, _: Any) -> None:
        self.stack.append(self._popped())

    def _dict(self, _: Any) -> None:
        held = self._popped()
        self.stack.append(dict(zip(held[::2], held[1::2], strict=True)))

    def _append(self, _: Any) -> None:
        value = self.stack.pop()
        self._extend([value])

    def _appends(self, _: Any) -> None:
        self._extend(self._popped())

    def _extend(self, values: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(values)

    def _setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._store([key, value])

    def _setitems(self, _: Any) -> None:
        self._store(self._popped())

    def _store(self, held: list[Any]) -> None:
        target = self.stack[-1]
        into = target.items if isinstance(target, Noted) else target
        into.update(zip(held[::2], held[1::2], strict=True))

    # what would be calls

    def _global(self, argument: str) -> None:
        self.stack.append(Noted(argument.replace(" ", ".")))

    def _stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Noted(f"{module}.{name}"))

    def _reduce(self, _: Any) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        self.stack.append(_made(called, arguments))

    _newobj = _reduce

    def _build(self, _: Any) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, Noted):
            return
        target.state = state
        if target.name.endswith("NumpyArrayWrapper"):
            self._replace(target, _array_behind(self.stream, state))
        elif target.name.endswith("_reconstruct"):
            self._replace(target, _array_of(state))

    def _replace(self, old: Noted, new: Any) -> None:
        self.stack[-1] = new
        for place, value in self.memory.items():
            if value is old:
                self.memory[place] = new


_VALUES: JsonObject = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": (),
    "EMPTY_SET": list,
}
_ARGUMENT = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING SHORT_BINSTRING BINSTRING "
    "UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8 "
    "BYTEARRAY8".split()
)


def _made(called: Any, arguments: Any) -> Any:
    name = called.name if isinstance(called, Noted) else str(called)
    if name.endswith("multiarray.scalar") and len(arguments) == 2:
        return _from_bytes(arguments[1], _dtype(arguments[0]), (), "C")[()]
    if name.endswith("numeric._frombuffer") and len(arguments) == 4:
        # protocol 5 hands over the bytes themselves
        content, kind, shape, order = arguments
        return _from_bytes(bytes(content), _dtype(kind), shape, str(order))
    if name.endswith("_codecs.encode"):
        # protocol 2 writes bytes as text
        return str(arguments[0]).encode(str(arguments[1]))
    return Noted(name, arguments)


def _dtype(noted: Any) -> np.dtype[Any]:
    """Return the type of numbers that a description names; refuse anything but numbers."""
    code = str(noted.arguments[0])
    order = noted.state[1] if isinstance(noted.state, tuple) else "="
    order = order.decode() if isinstance(order, bytes) else order
    found = np.dtype(code)
    if found.kind not in _NUMBERS:
        raise ModelFileError(f"an array of {code!r} is in the file, where numbers are expected.")
    return np.dtype(f"{order}{found.str[1:]}") if order in ("<", ">") else found


def _array_of(state: Any) -> Array | Noted:
    """Rebuild an array from its state: version, shape, type, order of columns, bytes."""
    _, shape, kind, fortran, content = state
    if isinstance(kind, Noted) and str(kind.arguments[0])[0] in "OSU":
        return Noted("array of text", content)
    return _from_bytes(content, _dtype(kind), shape, "F" if fortran else "C")


def _array_behind(stream: BinaryIO, state: JsonObject) -> Array | Noted:
    """Read the array that joblib has put behind its description."""
    kind = _dtype(state["dtype"])
    if state.get("numpy_array_alignment_bytes") is not None:
        stream.read(stream.read(1)[0])
    count = int(np.prod(state["shape"], dtype=np.int64))
    content = stream.read(count * kind.itemsize)
    return _from_bytes(content, kind, state["shape"], state["order"])


def _from_bytes(content: Any, kind: np.dtype[Any], shape: Any, order: str) -> Array:
    raw = content.encode("latin1") if isinstance(content, str) else bytes(content)
    found = np.frombuffer(raw, dtype=kind)
    return found.reshape(tuple(shape), order="F" if order == "F" else "C").copy()
