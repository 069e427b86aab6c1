"""Groups of arrays as compiled code takes them: one pointer each.

A named tuple of arrays that is passed by value becomes some hundred arguments of every compiled
function, and is copied whenever it gets another name: most of the time to compile a loop went
there. Here a group is the address of a table of words: for an array its address and shape, for a
number its value, for a group within a group the address of its table. Compiled code reads a field
from the table when it needs it. The table does not change while a loop runs, and the compiler is
told so, hence keeps fields in registers as if they had been arguments.

Python sees the named tuple. ``held(group)`` makes the table; whoever calls a loop holds it, and
with it the arrays.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, unbox
from numba.np.arrayobj import populate_array

_WORD = ir.IntType(64)


class GroupType(types.Type):  # type: ignore[misc]
    """The compiled type of a named tuple of arrays, numbers and groups."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]) -> None:
        self.fields = fields
        super().__init__(f"group {name}({', '.join(f'{key}: {kind}' for key, kind in fields)})")

    def place(self, name: str) -> tuple[int, types.Type] | None:
        """Return the word at which a field begins, and its type."""
        word = 0
        for field, kind in self.fields:
            if field == name:
                return word, kind
            word += _words(kind)
        return None


def _words(kind: types.Type) -> int:
    """Return the words of a field: address and shape of an array, else one."""
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def compiled(group: type) -> GroupType:
    """Return the compiled type of a named tuple, from the types of its fields."""
    if group not in _TYPES:
        _TYPES[group] = _compiled(group)
    return _TYPES[group]


_TYPES: dict[type, GroupType] = {}


def _compiled(group: type) -> GroupType:
    hints = get_type_hints(group, include_extras=True)
    fields = [
        (name, hint.__metadata__[0] if hasattr(hint, "__metadata__") else compiled(hint))
        for name, hint in hints.items()
    ]
    return GroupType(group.__name__, tuple(fields))


class Held:
    """A group with its table of words, as a loop takes it."""

    __slots__ = ("_numba_type_", "address", "group", "parts", "words")

    def __init__(self, group: Any, kind: GroupType) -> None:
        self._numba_type_, self.group = kind, group
        self.parts: list[Held] = []
        words: list[int] = []
        for (name, field), value in zip(kind.fields, group, strict=True):
            words += self._written(name, field, value)
        self.words = np.array(words, np.uint64)
        self.address: int = self.words.ctypes.data

    def _written(self, name: str, field: types.Type, value: Any) -> list[int]:
        """Return the words of one field; refuse an array of another type than compiled code has."""
        if isinstance(field, GroupType):
            self.parts.append(Held(value, field))
            return [self.parts[-1].address]
        if isinstance(field, types.Array):
            fits = (
                value.dtype == _dtype(field)
                and value.ndim == field.ndim
                and value.flags.c_contiguous
                and (value.flags.writeable or not field.mutable)
            )
            if not fits:
                raise TypeError(f"{name} is {value.dtype}, {value.ndim}-dimensional; not {field}")
            return [value.ctypes.data, *value.shape]
        dtype = np.float64 if isinstance(field, types.Float) else np.int64
        return [int(np.array(value, dtype).view(np.uint64))]


@cache
def _dtype(field: types.Array) -> np.dtype[Any]:
    return np.dtype(str(field.dtype))


def held(group: Any) -> Held:
    """Return a named tuple of arrays as a loop takes it."""
    return Held(group, compiled(type(group)))


@register_model(GroupType)
class _GroupModel(models.PrimitiveModel):  # type: ignore[misc]
    """In compiled code a group is the address of its words."""

    def __init__(self, manager: Any, kind: GroupType) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(GroupType)
def _unbox_group(kind: GroupType, held_group: Any, c: Any) -> NativeValue:
    """Take the address from the Python object."""
    number = c.pyapi.object_getattr_string(held_group, "address")
    address = c.pyapi.long_as_ulonglong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, _WORD.as_pointer()))


@infer_getattr
class _GroupFields(AttributeTemplate):  # type: ignore[misc]
    key = GroupType

    def generic_resolve(self, kind: GroupType, name: str) -> types.Type | None:
        """Say the type of a field."""
        found = kind.place(name)
        return None if found is None else found[1]


@lower_getattr_generic(GroupType)
def _read_field(context: Any, builder: Any, kind: GroupType, group: Any, name: str) -> Any:
    """Read a field from the table of words, which never changes."""
    place = kind.place(name)
    assert place is not None
    first, field = place

    def word(number: int) -> Any:
        found = builder.load(builder.gep(group, [_WORD(number)], inbounds=True))
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    if isinstance(field, GroupType):
        return builder.inttoptr(word(first), _WORD.as_pointer())
    if isinstance(field, types.Array):
        array = context.make_array(field)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(field.dtype))
        shape = [word(first + 1 + axis) for axis in range(field.ndim)]
        strides = [_WORD(size)]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        populate_array(
            array,
            data=builder.inttoptr(word(first), array.data.type),
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=_WORD(size),
            meminfo=None,
        )
        return array._getvalue()
    if isinstance(field, types.Float):
        return builder.bitcast(word(first), ir.DoubleType())
    if isinstance(field, types.Boolean):
        return builder.icmp_unsigned("!=", word(first), _WORD(0))
    return word(first)
