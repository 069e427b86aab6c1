"""What the least-waste sizer knows, as arrays and JSON: saved without loss, unpacked kind by kind.

A model of many kinds is loaded in one go and each history is built when its kind is first asked
for, so that a file of 100,000 kinds answers at once.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophase.json_types import JsonMapping, JsonObject
from prophase.modelfile import Parts
from prophase.sizing.least_waste.history import TaskHistory
from prophase.sizing.least_waste.joint_regression import Joint
from prophase.sizing.least_waste.lineage import Known, Prefix
from prophase.sizing.least_waste.settings import LeastWasteSettings
from prophase.sizing.least_waste.sizer import LeastWaste
from prophase.sizing.packed_kinds import (
    BuiltWhenAsked,
    NarrowRows,
    PackedDocuments,
    narrowed,
)

Arrays = dict[str, NDArray[Any]]
#: parts of a tag, and of a counter's name, are joined by this in JSON
_JOINED = "\x1f"


def packed_engine(engine: LeastWaste) -> Parts:
    """Return everything the engine has learnt, but for what is under way."""
    kinds = list(engine.histories_)
    histories = [engine.histories_[kind] for kind in kinds]
    names = _Numbered()
    words = _Numbered()
    known = _Ragged()
    said = _Ragged()
    for one in histories:
        for row in one.known_numbers:
            known.add([names.of(_JOINED.join(key)) for key in row], list(row.values()))
        for row_words in one.words:
            said.add([words.of(word) for word in row_words])
    rows = [np.stack([one.peaks, one.hours, one.inputs, one.ancestry, one.surprises])
            for one in histories]  # fmt: skip
    arrays: Arrays = {
        "rows": np.concatenate(rows, axis=1) if rows else np.empty((5, 0)),
        "count": np.array([one.count for one in histories], np.int64),
        **known.arrays("known"),
        **said.arrays("words"),
    }
    meta = {
        "risk": engine.risk,
        "prior": engine.prior,
        "settings": asdict(engine.settings),
        "kinds": kinds,
        "histories": [_small(one) for one in histories],
        "names": names.texts,
        "words": words.texts,
        "price": engine.price_.to_dict(),
        "samples": {
            _JOINED.join(prefix): {_JOINED.join(key): value for key, value in held.items()}
            for prefix, held in engine.lineage_.samples.items()
        },
        "cold": {workflow: held.tasks for workflow, held in engine.cold_.items()},
    }
    return Parts(meta, arrays)


def unpacked_engine(meta: JsonMapping, arrays: Arrays) -> LeastWaste:
    """Return an engine that answers as the one that was packed."""
    settings = LeastWasteSettings(**meta["settings"])
    engine = LeastWaste(meta["risk"], settings=settings, prior=bool(meta["prior"]))
    packed = _PackedHistories(meta, arrays, settings.remembered)
    places = {kind: place for place, kind in enumerate(meta["kinds"])}
    engine.histories_ = BuiltWhenAsked(places, packed.built)
    engine.price_.restore(meta["price"])
    engine.lineage_.samples = {
        _split(prefix): {_pair(key): float(value) for key, value in held.items()}
        for prefix, held in meta["samples"].items()
    }
    for workflow, tasks in meta["cold"].items():
        engine.cold_of(workflow).tasks = {task: list(held) for task, held in tasks.items()}
    return engine


class _PackedHistories:
    """Saved histories of all kinds."""

    def __init__(self, meta: JsonMapping, arrays: Arrays, remembered: int) -> None:
        self._remembered = remembered
        self._rows = NarrowRows(arrays["rows"], arrays["count"])
        self._small = PackedDocuments(meta["histories"])
        self._names, self._words = list(meta["names"]), list(meta["words"])
        self._known = {
            part: narrowed(_short(arrays[part]))
            for part in ("known_keys", "known_ends", "known_values", "words_keys", "words_ends")
        }

    def built(self, place: int) -> TaskHistory:
        """Return the history of the kind at a place."""
        arrays = self._known
        begin, end = int(self._rows.ends[place]), int(self._rows.ends[place + 1])
        names = [_pair(name) for name in _used(arrays, "known", begin, end, self._names)]
        known: list[Known] = []
        words: list[tuple[str, ...]] = []
        numbers = iter(names)
        for row in range(begin, end):
            low, high = arrays["known_ends"][row : row + 2]
            values = arrays["known_values"][low:high].tolist()
            known.append({next(numbers): value for value in values})
            low, high = arrays["words_ends"][row : row + 2]
            words.append(tuple(self._words[i] for i in arrays["words_keys"][low:high].tolist()))
        rows = self._rows.of(place)
        return _history(self._remembered, rows, known, words, self._small[place])


def _short(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in half the memory, as far as they fit."""
    fits = values.dtype == np.int64 and (not len(values) or values.max() < 2**31)
    return values.astype(np.int32) if fits else values


def _used(arrays: Arrays, what: str, begin: int, end: int, texts: list[str]) -> list[str]:
    low, high = arrays[f"{what}_ends"][begin], arrays[f"{what}_ends"][end]
    return [texts[i] for i in arrays[f"{what}_keys"][low:high].tolist()]


def _small(one: TaskHistory) -> JsonObject:
    """Return what a history knows beside its runs."""
    joint = one.fitted_joint
    return {
        "seen": one.seen,
        "highest": one.highest,
        "tags": {_JOINED.join(prefix): list(held) for prefix, held in one.tags.items()},
        "bounds": [list(bound) for bound in one.bounded],
        "record": one.record,
        "record_hours": one.record_hours,
        "expected": one.expected,
        "ancestor": list(one.ancestor) if one.ancestor else None,
        "next_choice": one.next_choice,
        "code": one.code,
        "changes": one.changes,
        "joint": None if joint is None else {
            "columns": [list(column) for column in joint.columns], "count": joint.count,
        },
    }  # fmt: skip


def _history(
    remembered: int,
    rows: NDArray[np.float64],
    known: list[Known],
    words: list[tuple[str, ...]],
    small: JsonMapping,
) -> TaskHistory:
    made = TaskHistory(remembered)
    made.fill(rows, known, words)
    made.seen, made.highest = int(small["seen"]), float(small["highest"])
    made.tags = {_split(text): [float(one) for one in held] for text, held in small["tags"].items()}
    made.bounded = [(float(bound), int(runs)) for bound, runs in small["bounds"]]
    made.record = {str(name): float(value) for name, value in small["record"].items()}
    made.record_hours = float(small["record_hours"])
    made.expected = {str(name): float(value) for name, value in small["expected"].items()}
    made.ancestor = (small["ancestor"][0], small["ancestor"][1]) if small["ancestor"] else None
    made.next_choice, made.changes = int(small["next_choice"]), int(small["changes"])
    made.code = small["code"]
    if small["joint"]:
        columns = [(str(a), str(b)) for a, b in small["joint"]["columns"]]
        made.take_joint(Joint(columns), int(small["joint"]["count"]))
    return made


def _split(text: str) -> Prefix:
    return tuple(text.split(_JOINED))


def _pair(text: str) -> tuple[str, str]:
    task, _, counter = text.partition(_JOINED)
    return task, counter


class _Numbered:
    """Texts that are kept once, by their number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def of(self, text: str) -> int:
        place = self._places.setdefault(text, len(self.texts))
        if place == len(self.texts):
            self.texts.append(text)
        return place


class _Ragged:
    """Rows of different lengths: keys and perhaps values."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.values: list[float] = []
        self.ends = [0]

    def add(self, keys: list[int], values: list[float] | None = None) -> None:
        self.keys += keys
        self.values += values or []
        self.ends.append(len(self.keys))

    def arrays(self, name: str) -> Arrays:
        found: Arrays = {
            f"{name}_keys": np.array(self.keys, np.int32),
            f"{name}_ends": np.array(self.ends, np.int64),
        }
        if self.values:
            found[f"{name}_values"] = np.array(self.values)
        else:
            found[f"{name}_values"] = np.empty(0)
        return found
