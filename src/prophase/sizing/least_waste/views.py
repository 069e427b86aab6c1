"""Views of a task's history: each a weighted sample of what the next peak may be.

All history, the last few, a line and a power law in the size of the input, its nearest
neighbours, the same with a counter of a finished task of the same sample, and instances with
a similar tag. Lines use leave-one-out residuals, widened for leverage and weighted towards
inputs of similar size, so they are honest when instances are few and follow a spread that
grows with the input.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from prophase.sizing.least_waste.history import History
from prophase.sizing.least_waste.ladder import LEAST_GIB, Floats
from prophase.sizing.least_waste.lineage import Prefix
from prophase.sizing.least_waste.settings import Settings

#: values and weights; the weights sum to 1
Sample = tuple[Floats, Floats]

#: quartile means of an exponential tail with mean 1
_TAIL = np.array([0.137, 0.477, 0.966, 2.42])
#: a line may foretell so many times the highest peak seen
_FARTHEST = 10.0
#: share of their weight that residuals far from the input keep
_FAR_WEIGHT = 0.1
#: running instances per ended one that count at most, and the highest share of the tail
_MOST_OPEN, _MOST_TAIL = 8.0, 0.9


def views(
    history: History,
    settings: Settings,
    size: float,
    ancestor: float,
    tag: tuple[Prefix, ...],
) -> dict[str, Sample]:
    """Return the views that have something to say.

    Parameters
    ----------
    size, ancestor : float
        Logarithms of the input's size and of the chosen counter; NaN if unknown.
    tag : tuple of prefixes
        The leading words of the tag, longest first.
    """
    peaks, hours = history.peaks, history.hours
    if history.bounds:
        # killed and never seen to end: it needs more than that, nobody knows how much
        extra = np.array([1.25 * bound for bound in history.bounds])
        peaks = np.concatenate([peaks, extra])
        hours = np.concatenate([hours, np.full(len(extra), hours.mean() if len(hours) else 1.0)])
    # the first instances to end are the short ones, which need less than those still running
    unlike = 1.0 + settings.early * min(history.open / (history.count + 1.0), _MOST_OPEN)
    settings = (
        replace(settings, tail=settings.tail * unlike, tail_few=settings.tail_few * unlike)
        if unlike > 1.0
        else settings
    )
    found = {"all": tailed(peaks, hours, len(peaks), settings)}
    if history.count > settings.recent:
        few = settings.recent
        found["recent"] = tailed(peaks[-few:], hours[-few:], few, settings)
    if history.count >= settings.lines_from:
        if size == size:
            _by_number(found, "input", history, history.inputs, hours, size, settings)
        if ancestor == ancestor:
            _by_number(found, "sample", history, history.ancestry, hours, ancestor, settings)
    if tag and history.count >= 4:
        _by_tag(found, history, tag, settings)
    return found


def tag_level(history: History, tag: tuple[Prefix, ...]) -> float:
    """Return the log peak of the instances with the closest tag; NaN if none shares a word."""
    for prefix in tag:
        held = history.tags.get(prefix)
        if held is not None:
            return held[0] / held[1]
    return math.nan


def _by_tag(
    found: dict[str, Sample], history: History, tag: tuple[Prefix, ...], settings: Settings
) -> None:
    surprises = history.surprises[-60:]
    known = surprises == surprises
    count = int(known.sum())
    level = tag_level(history, tag)
    if count < 3 or level != level:
        return
    values = np.exp(np.minimum(level + surprises[known], math.log(_FARTHEST * history.highest)))
    found["tag"] = tailed(values, history.hours[-60:][known], count, settings)


def _by_number(
    found: dict[str, Sample],
    name: str,
    history: History,
    numbers: Floats,
    hours: Floats,
    number: float,
    settings: Settings,
) -> None:
    """Add a line, a power law and nearest neighbours in one number known before the run."""
    known = numbers == numbers
    peaks, hours = history.peaks, hours[: history.count]
    if not known.all():
        numbers, peaks, hours = numbers[known], peaks[known], hours[known]
    count = len(numbers)
    if count < 3:
        return
    middle = numbers.mean()
    spread = math.sqrt(((numbers - middle) ** 2).mean())
    if spread > 1e-9:
        far = (numbers - number) / (settings.locality * spread)
        close = hours * (_FAR_WEIGHT + np.exp(-0.5 * far * far))
        farthest = _FARTHEST * history.highest
        shift = max(float(numbers.max()), number)
        sample = _line(np.exp(numbers - shift), peaks, math.exp(number - shift))
        if sample is not None:
            found[f"{name} line"] = tailed(
                np.clip(sample, LEAST_GIB, farthest), close, count - 1, settings
            )
        sample = _line(numbers, np.log(peaks), number)
        if sample is not None:
            sample = np.exp(np.clip(sample, math.log(LEAST_GIB), math.log(farthest)))
            found[f"{name} power"] = tailed(sample, close, count - 1, settings)
    if count >= 6:
        few = min(settings.neighbours, count // 2)
        nearest = np.abs(numbers - number).argpartition(few - 1)[:few]
        found[f"{name} neighbours"] = tailed(peaks[nearest], hours[nearest], few, settings)


def _line(x: Floats, y: Floats, at: float) -> Floats | None:
    """Return what a least-squares line foretells: its value plus leave-one-out residuals."""
    count = len(x)
    offset = x - x.mean()
    spread = float(offset @ offset)
    if spread <= 1e-12 * float(x @ x):
        return None
    level = y.mean()
    slope = float(offset @ y) / spread
    leverage = 1.0 / count + offset * offset / spread
    away = at - float(x.mean())
    widening = math.sqrt(1.0 + min(1.0 / count + away * away / spread, 50.0))
    residuals = (y - level - slope * offset) / np.maximum(1.0 - leverage, 0.05)
    foretold: Floats = level + slope * away + widening * residuals
    return foretold


def tailed(values: Floats, weights: Floats, count: int, settings: Settings) -> Sample:
    """Add what has not been seen yet: an exponential tail above the highest value."""
    size = len(values)
    top = float(values.max())
    scale = settings.tail_scale * top
    fifth = (size + 4) // 5
    if size > fifth:
        upper = np.partition(values, size - fifth - 1)[size - fifth - 1 :]
        scale = max(scale, float(upper[1:].mean() - upper[0]))
    if size < 4:
        scale = max(scale, settings.tail_scale_first * top / math.sqrt(size))
    tail = settings.tail + settings.tail_few / (count + 1.0)
    mass = min(tail / (count + 1.0), _MOST_TAIL)
    total = float(weights.sum())
    shares = weights * ((1.0 - mass) / total) if total > 0 else np.full(size, (1.0 - mass) / size)
    return (
        np.concatenate([values, top + scale * _TAIL]),
        np.concatenate([shares, np.full(4, mass / 4)]),
    )
