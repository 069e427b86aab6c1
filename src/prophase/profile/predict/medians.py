"""Medians over everything a key has seen, as of any moment: what plain baselines answer."""

from __future__ import annotations

from bisect import insort

import numpy as np

from prophase.profile.predict.memory import Floats, Keys


def medians_as_of(
    keys: Keys, ends: Floats, values: Floats, asked: Keys, as_of: Floats
) -> tuple[Floats, Floats]:
    """Return the median of all values of each asked key that ended before, and how many.

    Examples
    --------
    >>> keys = np.array([1, 1, 1], dtype=np.uint64)
    >>> ends, values = np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 100.0])
    >>> medians_as_of(keys, ends, values, keys[:2], np.array([2.5, np.inf]))
    (array([6., 7.]), array([2., 3.]))
    """
    if len(as_of) and len(ends) and as_of.min() > ends.max():
        return _of_everything(keys, values, asked)
    order = np.argsort(ends, kind="stable")
    known_keys, known_values = keys[order].tolist(), values[order].tolist()
    known_until = np.searchsorted(ends[order], as_of, side="left")
    wanted = set(asked.tolist())
    sorted_values: dict[int, list[float]] = {}
    middle, count = np.full(len(asked), np.nan), np.zeros(len(asked))
    done = 0
    for row in np.argsort(known_until, kind="stable").tolist():
        for place in range(done, int(known_until[row])):
            if known_keys[place] in wanted:
                insort(sorted_values.setdefault(known_keys[place], []), known_values[place])
        done = max(done, int(known_until[row]))
        held = sorted_values.get(int(asked[row]))
        if held:
            half = len(held) // 2
            middle[row] = held[half] if len(held) % 2 else 0.5 * (held[half - 1] + held[half])
            count[row] = len(held)
    return middle, count


def _of_everything(keys: Keys, values: Floats, asked: Keys) -> tuple[Floats, Floats]:
    """Return the medians when no row is hidden, without going through time."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    names, first, held = np.unique(keys, return_index=True, return_counts=True)
    code = np.minimum(np.searchsorted(names, asked), len(names) - 1)
    known = names[code] == asked
    start, count = first[code], held[code]
    middle = 0.5 * (values[start + (count - 1) // 2] + values[start + count // 2])
    return np.where(known, middle, np.nan), np.where(known, count, 0).astype(np.float64)
