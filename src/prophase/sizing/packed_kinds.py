"""What a model knows of many kinds, as few arrays: a kind is built when it is first asked for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from prophase.json_types import JsonMapping

K = TypeVar("K")
V = TypeVar("V")
#: documents that are compressed together
_TOGETHER = 64


class BuiltWhenAsked(MutableMapping[K, V]):
    """A mapping whose saved values are built when they are first asked for.

    Parameters
    ----------
    places : mapping
        Where each key is saved; shared, never changed.
    build : callable
        Returns the value that is saved at a place.

    Examples
    --------
    >>> held = BuiltWhenAsked({"a": 0, "b": 1}, lambda place: [place])
    >>> held["c"] = [9]
    >>> held["b"], len(held), list(held), "a" in held
    ([1], 3, ['a', 'b', 'c'], True)
    """

    def __init__(self, places: Mapping[K, int], build: Callable[[int], V]) -> None:
        self._places, self._build = places, build
        self._held: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key in self._held:
            return self._held[key]
        self._held[key] = made = self._build(self._places[key])
        return made

    def __setitem__(self, key: K, value: V) -> None:
        self._held[key] = value

    def __delitem__(self, key: K) -> None:
        raise TypeError("a kind that was learnt is not forgotten")

    def __contains__(self, key: object) -> bool:
        return key in self._held or key in self._places

    def __iter__(self) -> Iterator[K]:
        yield from self._places
        yield from (key for key in list(self._held) if key not in self._places)

    def __len__(self) -> int:
        return len(self._places) + sum(key not in self._places for key in self._held)

    def __copy__(self) -> BuiltWhenAsked[K, V]:
        made = BuiltWhenAsked(self._places, self._build)
        made._held = dict(self._held)
        return made


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in less memory: one number if all are alike, half where exact.

    Examples
    --------
    >>> narrowed(np.full(1000, 64.0)).base.nbytes, narrowed(np.array([0.5, 3.0])).dtype
    (8, dtype('float32'))
    >>> narrowed(np.array([0.1, 3.0])).dtype
    dtype('float64')
    """
    if values.dtype != np.float64 or not len(values):
        return values
    first = values[:1].copy()
    if np.array_equal(values, np.broadcast_to(first, values.shape), equal_nan=True):
        return np.broadcast_to(first, values.shape)
    with np.errstate(over="ignore"):
        half = values.astype(np.float32)
    return half if np.array_equal(half, values, equal_nan=True) else values.copy()


class NarrowRows:
    """Rows of numbers of all kinds, one kind after the other."""

    def __init__(self, rows: NDArray[Any], counts: NDArray[Any]) -> None:
        self._rows = [narrowed(row) for row in rows]
        self.ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def of(self, place: int) -> NDArray[np.float64]:
        """Return the rows of one kind."""
        part = slice(int(self.ends[place]), int(self.ends[place + 1]))
        return np.array([row[part] for row in self._rows], np.float64)


class PackedDocuments:
    """Small JSON documents, compressed; one is read when it is asked for."""

    def __init__(self, documents: Sequence[JsonMapping]) -> None:
        self._parts = [
            zlib.compress(json.dumps(documents[at : at + _TOGETHER]).encode())
            for at in range(0, len(documents), _TOGETHER)
        ]

    def __getitem__(self, place: int) -> JsonMapping:
        part = json.loads(zlib.decompress(self._parts[place // _TOGETHER]))
        found: JsonMapping = part[place % _TOGETHER]
        return found
