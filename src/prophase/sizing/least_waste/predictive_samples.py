"""Views of a task's history: each a weighted sample of what the next peak may be.

All history, the last few, a line and a power law in the size of the input, its nearest
neighbours, the same with a counter of a finished task of the same sample, instances with a
similar tag, and a regression on all of it together. Lines use leave-one-out residuals, widened
for leverage and weighted towards inputs of similar size, so they are honest when instances are
few and follow a spread that grows with the input.
"""

from __future__ import annotations

import math

import numpy as np

from prophase.sizing.least_waste.history import TaskHistory
from prophase.sizing.least_waste.joint_regression import Joint
from prophase.sizing.least_waste.ladder import LEAST_GIB, Floats
from prophase.sizing.least_waste.lineage import Prefix
from prophase.sizing.least_waste.settings import LeastWasteSettings

#: values and weights; the weights sum to 1
Sample = tuple[Floats, Floats]

#: views that need nothing but the history
PLAIN = ("all", "recent")
#: quartile means of an exponential tail with mean 1
_TAIL = np.array([0.137, 0.477, 0.966, 2.42])
#: the same in finer parts: nine tenths, and what is left in three
_EXCESSES = np.array(
    [0.052, 0.163, 0.288, 0.432, 0.599, 0.801, 1.053, 1.393, 1.916, 2.692, 3.757, 5.605]
)
_EXCESS_SHARES = np.array([*(9 * [0.1]), 0.06, 0.03, 0.01])
#: a line may predict so many times the highest peak seen
_FARTHEST = 10.0
#: share of their weight that residuals far from the input keep
_FAR_WEIGHT = 0.1
#: the highest share of the tail
_MOST_TAIL = 0.9


def views(
    history: TaskHistory,
    settings: LeastWasteSettings,
    size: float,
    ancestor: float,
    tag: tuple[Prefix, ...],
    together: tuple[Joint, Floats] | None = None,
) -> dict[str, Sample]:
    """Return the views that have something to say.

    Parameters
    ----------
    size, ancestor : float
        Logarithms of the input's size and of the chosen counter; NaN if unknown.
    tag : tuple of prefixes
        The leading words of the tag, longest first.
    together : tuple, optional
        The regression on all that is known, and the row of this instance.
    """
    peaks, hours = history.peaks, history.hours
    if history.bounds:
        # killed and never seen to end: it needs more than that, nobody knows how much
        extra = np.array([1.25 * bound for bound in history.bounds])
        peaks = np.concatenate([peaks, extra])
        hours = np.concatenate([hours, np.full(len(extra), hours.mean() if len(hours) else 1.0)])
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
    if together is not None:
        _by_all(found, history, *together, settings)
    return found


def tag_level(history: TaskHistory, tag: tuple[Prefix, ...]) -> float:
    """Return the log peak of the instances with the closest tag; NaN if none shares a word."""
    for prefix in tag:
        held = history.tags.get(prefix)
        if held is not None:
            return held[0] / held[1]
    return math.nan


def _by_tag(
    found: dict[str, Sample],
    history: TaskHistory,
    tag: tuple[Prefix, ...],
    settings: LeastWasteSettings,
) -> None:
    surprises = history.surprises[-60:]
    known = surprises == surprises
    count = int(known.sum())
    level = tag_level(history, tag)
    if count < 3 or level != level:
        return
    values = np.exp(np.minimum(level + surprises[known], math.log(_FARTHEST * history.highest)))
    found["tag"] = tailed(values, history.hours[-60:][known], count, settings)


def _by_all(
    found: dict[str, Sample],
    history: TaskHistory,
    joint: Joint,
    row: Floats,
    settings: LeastWasteSettings,
) -> None:
    at, leverage = joint.at(row)
    close = history.hours[: joint.count]
    spread = float(joint.predicted.std())
    if spread > 1e-9:
        close = close * _closeness((joint.predicted - at) / (settings.locality * spread))
    values = at + math.sqrt(1.0 + min(leverage, 50.0)) * joint.errors
    most = math.log(_FARTHEST * history.highest)
    values = np.exp(np.clip(values, math.log(LEAST_GIB), most))
    found["together"] = tailed(values, close, joint.count - 1, settings)


def _closeness(far: Floats) -> Floats:
    weights: Floats = _FAR_WEIGHT + np.exp(-0.5 * far * far)
    return weights


def _by_number(
    found: dict[str, Sample],
    name: str,
    history: TaskHistory,
    numbers: Floats,
    hours: Floats,
    number: float,
    settings: LeastWasteSettings,
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
        close = hours * _closeness((numbers - number) / (settings.locality * spread))
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
        few = max(settings.neighbours, int(count**settings.neighbours_power))
        few = min(few, count // 2)
        nearest = np.abs(numbers - number).argpartition(few - 1)[:few]
        found[f"{name} neighbours"] = tailed(peaks[nearest], hours[nearest], few, settings)


def _line(x: Floats, y: Floats, at: float) -> Floats | None:
    """Return what a least-squares line predicts: its value plus leave-one-out residuals."""
    count = len(x)
    middle = float(x.mean())
    offset = x - middle
    spread = float(offset @ offset)
    if spread <= 1e-12 * float(x @ x):
        return None
    level = y.mean()
    slope = float(offset @ y) / spread
    leverage = 1.0 / count + offset * offset / spread
    away = at - middle
    widening = math.sqrt(1.0 + min(1.0 / count + away * away / spread, 50.0))
    residuals = (y - level - slope * offset) / np.maximum(1.0 - leverage, 0.05)
    predicted: Floats = level + slope * away + widening * residuals
    return predicted


def tailed(values: Floats, weights: Floats, count: int, settings: LeastWasteSettings) -> Sample:
    """Add what has not been seen yet: an exponential tail above the highest values.

    Excesses over a high value are close to exponential whatever they come from. The highest
    few themselves are luck, so with some runs most of their weight goes to that tail as well.
    """
    size = len(values)
    tail = settings.tail + settings.tail_few / (count + 1.0)
    mass = min(tail / (count + 1.0), _MOST_TAIL)
    total = float(weights.sum())
    shares = weights * ((1.0 - mass) / total) if total > 0 else np.full(size, (1.0 - mass) / size)
    least = settings.tail_scale * float(values.max())
    fifth = (size + 4) // 5
    if size < settings.smoothed_from:
        tail_values = _above_the_highest(values, fifth, least, settings)
        tail_shares = np.full(len(_TAIL), 1.0 / len(_TAIL))
    else:
        order = values.argpartition(size - fifth - 1)
        base, upper = float(values[order[size - fifth - 1]]), order[size - fifth :]
        prior = settings.smoothed_prior
        excess = float(values[upper].sum()) - fifth * base
        tail_values = base + (excess + prior * least) / (fifth + 1.0) * _EXCESSES
        tail_shares = _EXCESS_SHARES
        mass += (1.0 - settings.smoothed_keep) * float(shares[upper].sum())
        shares[upper] *= settings.smoothed_keep
    return (
        np.concatenate([values, tail_values]),
        np.concatenate([shares, mass * tail_shares]),
    )


def _above_the_highest(
    values: Floats, fifth: int, least: float, settings: LeastWasteSettings
) -> Floats:
    size, top = len(values), float(values.max())
    scale = least
    if size > fifth:
        upper = np.partition(values, size - fifth - 1)[size - fifth - 1 :]
        scale = max(scale, float(upper[1:].mean() - upper[0]))
    if size < 4:
        scale = max(scale, settings.tail_scale_first * top / math.sqrt(size))
    above: Floats = top + scale * _TAIL
    return above
