"""What finished tasks of the same sample say about a task that has not run yet.

Tags name samples: ``FOXA1_VCaP_REP2``, ``DA231_L1``. Two tags are the closer the more of
their leading words they share. Counters of finished tasks are kept by sample, so a task can
be predicted by, say, the bytes that the alignment of the same sample wrote.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from prophase.json_types import JsonMapping

Prefix = tuple[str, ...]
#: (task, counter) -> logarithm of its value
Known = dict[tuple[str, str], float]

_WORDS = re.compile(r"[A-Za-z0-9]+")
_MOST_WORDS = 6
#: samples that are remembered; the oldest goes first
_MOST_SAMPLES = 20_000
#: counters of monitoring that say how much a task handled, best first
_TELLING = ("rchar", "wchar", "read", "writ", "input", "output", "byte", "syscr", "syscw")
_COUNTERS = 3
_CHOICE_ROWS = 120
#: in place of a task: the number belongs to the instance itself
OWN = ""
_MOST_OWN = 24
#: used elsewhere, or no amounts of work
_NOT_OWN = frozenset({"workflow", "tag", "submit_s", "input_gib", "post"})
#: the size of the input, among the numbers that are taken together
INPUT = (OWN, "input_gib")


@lru_cache(maxsize=65_536)
def prefixes(tag: str) -> tuple[Prefix, ...]:
    """Return the leading words of a tag, longest first.

    Examples
    --------
    >>> prefixes("DA231_L1")
    (('DA231', 'L1'), ('DA231',))
    """
    words = _WORDS.findall(tag)[:_MOST_WORDS]
    return tuple(tuple(words[:count]) for count in range(len(words), 0, -1))


class Lineage:
    """Counters of finished tasks by sample."""

    def __init__(self) -> None:
        self.samples: dict[Prefix, Known] = {}

    def add(self, task: str, tag: str, peak: float, hours: float, post: JsonMapping | None) -> None:
        """Remember what a finished task reported about its sample."""
        known_numbers = {
            (task, "peak"): math.log(peak),
            (task, "run time"): math.log(max(hours, 1e-5)),
        }
        for name in _counters(tuple(post)) if post else ():
            value = _positive(post, name)
            if value is not None:
                known_numbers[task, name] = math.log(value)
        for prefix in prefixes(tag):
            held = self.samples.get(prefix)
            if held is None:
                self.samples[prefix] = dict(known_numbers)
                if len(self.samples) > _MOST_SAMPLES:
                    del self.samples[next(iter(self.samples))]
            else:
                held.update(known_numbers)

    def known_numbers(self, task: str, tag: str) -> Known:
        """Return all that is known of a sample, from the closest tag that knows it."""
        found: Known = {}
        for prefix in prefixes(tag):
            held = self.samples.get(prefix)
            if held:
                found = {**held, **found}
        if found:
            found = {key: value for key, value in found.items() if key[0] != task}
        return found

    def one(self, tag: str, key: tuple[str, str] | None) -> float:
        """Return one counter of a sample; NaN if it is not known."""
        if key is not None:
            for prefix in prefixes(tag):
                held = self.samples.get(prefix)
                if held and key in held:
                    return held[key]
        return math.nan


def best_ancestor(known_numbers: list[Known], log_peaks: Any) -> tuple[str, str] | None:
    """Return the counter that goes best with the peaks; None if none does beyond chance."""
    known_numbers, log_peaks = known_numbers[-_CHOICE_ROWS:], log_peaks[-_CHOICE_ROWS:]
    count = len(known_numbers)
    if count < 4 or log_peaks.std() < 0.005:
        return None
    names = sorted({key for row in known_numbers for key in row} - {INPUT})
    if not names:
        return None
    table = np.array([[row.get(name, np.nan) for name in names] for row in known_numbers])
    known = np.isfinite(table)
    cover = known.sum(axis=0)
    filled = np.where(known, table, 0.0)
    middle = filled.sum(axis=0) / np.maximum(cover, 1)
    centred = np.where(known, table - middle, 0.0)
    target = np.where(known, log_peaks[:, None], 0.0)
    target = np.where(known, target - target.sum(axis=0) / np.maximum(cover, 1), 0.0)
    spread = (centred**2).sum(axis=0) * (target**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.abs((centred * target).sum(axis=0)) / np.sqrt(spread)
    fit = np.where((cover >= max(4, 0.6 * count)) & (spread > 1e-9), fit, 0.0)
    fit *= np.sqrt(cover / count)
    best = int(fit.argmax())
    return names[best] if fit[best] >= 2.0 / math.sqrt(count) else None


def own_numbers(features: JsonMapping) -> Known:
    """Return further numbers known of an instance itself, such as a batch size.

    Examples
    --------
    >>> own_numbers({"submit_s": 8, "batch_size": 1, "tag": "a"})
    {('', 'batch_size'): 0.0}
    """
    found: Known = {}
    for name, value in features.items():
        if name not in _NOT_OWN and isinstance(value, int | float) and value > 0:
            if math.isfinite(value):
                found[OWN, name] = math.log(value)
            if len(found) == _MOST_OWN:
                break
    return found


def own_words(features: JsonMapping) -> tuple[str, ...]:
    """Return what is said of an instance in words: those of its tag, and other texts.

    Examples
    --------
    >>> own_words({"tag": "DA231_L1", "queue": "long"})
    ('DA231', 'L1', 'DA231 L1', 'queue=long')
    """
    tag = features.get("tag")
    leading = prefixes(tag) if isinstance(tag, str) else ()
    words = [*leading[0], *(" ".join(some) for some in leading[:-1])] if leading else []
    words += [
        f"{name}={value}"
        for name, value in features.items()
        if isinstance(value, str) and name not in _NOT_OWN
    ]
    return tuple(dict.fromkeys(words))


@lru_cache(maxsize=256)
def _counters(names: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the counters that say how much was handled, whatever monitoring calls them."""
    ranked = []
    for place, name in enumerate(names):
        low = str(name).lower()
        rank = next((i for i, part in enumerate(_TELLING) if part in low), None)
        if rank is not None:
            ranked.append((rank, place, name))
    return tuple(name for _, _, name in sorted(ranked)[:_COUNTERS])


def _positive(post: JsonMapping | None, name: str) -> float | None:
    try:
        value = float((post or {})[name])
    except (KeyError, TypeError, ValueError):
        return None
    return value if math.isfinite(value) and value > 0 else None
