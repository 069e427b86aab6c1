"""Usage series as they come, brought into a form that phases can be found in.

Samples arrive unsorted, twice, with holes and with missing values. What can be mended without
looking ahead is mended and said; what cannot is refused with its reason. A label of a sample
never depends on a later sample, so neither does anything here: a missing value takes the last
one before it, and a resampled value is the mean of the step that has just ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.plural import counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a pause longer than this many usual steps starts a new series
GAP_STEPS = 5.0
#: share of all samples in series that decide what a usual step is
_HELD = 0.99
#: share of steps that are a quarter off the usual one from which on a series is irregular
_UNEVEN = 0.2
#: share of samples of one time with different values from which on an id stands for two series
_OVERLAP = 0.01


@dataclass(frozen=True)
class Series:
    """The samples of one container, pod, VM or job, in order of time and without holes in a row."""

    series_id: str
    #: (n,)
    time_s: Floats
    #: (n, metrics), finite
    values: Floats
    #: (n,) bool: here a history begins, at the first sample and after a pause
    begins: NDArray[np.bool_]
    #: (n,) place of each sample in the table it came from; of the last one if several were joined
    rows: Ints

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def step_s(self) -> float:
        """Usual time between two samples."""
        return float(np.median(np.diff(self.time_s))) if len(self) > 1 else np.nan

    def stretches(self) -> Iterator[slice]:
        """Yield the uninterrupted parts."""
        edges = np.append(np.flatnonzero(self.begins), len(self))
        yield from (slice(int(a), int(b)) for a, b in pairwise(edges))


@dataclass(frozen=True)
class SeriesSet:
    """Series with the same metrics, what was mended on the way, and what was refused."""

    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    #: usual time between two samples of a series
    step_s: float
    #: a pause longer than this starts a new history
    gap_s: float
    notes: tuple[str, ...] = ()
    #: series -> why it was left out
    refused: Mapping[str, str] = field(default_factory=dict)
    #: a step that samples should be brought to, as theirs are irregular; None if they are not
    common_step_s: float | None = None

    def __len__(self) -> int:
        return len(self.series)

    @property
    def samples(self) -> int:
        return sum(map(len, self.series))

    def stretches(self) -> list[Floats]:
        """Return the values of every uninterrupted part of every series."""
        return [one.values[part] for one in self.series for part in one.stretches()]


def series_of(
    usage: pd.DataFrame,
    metrics: Sequence[str] | None = None,
    *,
    step_s: float | None = None,
    gap_s: float | None = None,
    min_samples: int = 2,
) -> SeriesSet:
    """Return the series of a usage table, mended where that needs no guess about the future.

    Parameters
    ----------
    usage : DataFrame
        Long table: ``series_id``, ``time_s`` and a column per metric, in any order.
    metrics : sequence of str, optional
        Columns to use. All that vary if not given.
    step_s : float, optional
        Bring the samples to this step: a value is the mean of the samples in the step that ends
        at its time. Samples stay as they are if not given, and time is counted in samples.
    gap_s : float, optional
        A pause longer than this starts a new history. Five usual steps if not given.
    min_samples : int, default=2
        Series with fewer samples are refused.

    Raises
    ------
    InputError
        No series is left; the message says why.

    Examples
    --------
    >>> usage = pd.DataFrame(
    ...     {
    ...         "series_id": "a",
    ...         "time_s": [30.0, 10.0, 20.0, 20.0],
    ...         "cpu_cores": [3.0, 1.0, 2.0, 2.0],
    ...     }
    ... )
    >>> found = series_of(usage)
    >>> found.series[0].values.ravel().tolist(), found.step_s
    ([1.0, 2.0, 3.0], 10.0)
    >>> print(*found.notes, sep="; ")
    1 series came out of order and was sorted.; 1 row repeats another and was left out.
    """
    _check(step_s, gap_s, min_samples)
    names = _metrics(usage, metrics)
    values = usage.loc[:, list(names)].to_numpy(np.float64, na_value=np.nan)
    time = pd.to_numeric(usage["time_s"], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    codes, ids = pd.factorize(usage["series_id"])
    log = _Log()
    values = log.missing_if(np.isinf(values), values)
    known = (codes >= 0) & np.isfinite(time)
    log.say(int((~known).sum()), "row has no series or no time", "rows have no series or no time")
    rows = np.flatnonzero(known)
    order = rows[np.lexsort((rows, time[rows], codes[rows]))]
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1)) if len(order) else np.array([], int)
    pieces = [
        (str(ids[codes[part[0]]]), time[part], values[part], part)
        for part in np.split(order, edges[1:])
        if len(part)
    ]
    steps = [(_usual_step(time_s), len(time_s)) for _, time_s, _, _ in pieces]
    usual = [step for step, _ in steps if step > 0]
    own_step = float(np.median(usual)) if usual else 1.0
    pause = gap_s if gap_s is not None else GAP_STEPS * _slowest_step(steps)
    built = []
    for series_id, time_s, held, part in pieces:
        one = _mended(series_id, time_s, held, part, names, pause, log)
        if one is not None and step_s is not None:
            one = resampled(one, step_s, gap_s=max(pause, GAP_STEPS * step_s))
        if one is not None and len(one) < min_samples:
            log.refused[series_id] = (
                f"has {counted(len(one), 'sample')}, and {min_samples} are needed"
            )
        elif one is not None:
            built.append(one)
    if not built:
        raise InputError(_nothing_left(log.refused, len(usage)))
    varies = log.steps(usual, [time_s for _, time_s, _, _ in pieces], step_s)
    return SeriesSet(
        tuple(built),
        names,
        step_s if step_s is not None else own_step,
        max(pause, GAP_STEPS * step_s) if step_s is not None else pause,
        tuple(log.notes()),
        log.refused,
        own_step if varies else None,
    )


def resampled(series: Series, step_s: float, *, gap_s: float) -> Series:
    """Return the series at one step: each value is the mean of the step that ends at its time.

    A step without samples takes the value of the step before it; a longer pause starts a new one.

    Examples
    --------
    >>> time = np.array([0.0, 4.0, 10.0, 11.0, 30.0])
    >>> begins = np.array([True, False, False, False, False])
    >>> one = Series("a", time, np.array([[1.0], [3.0], [4.0], [6.0], [8.0]]), begins, np.arange(5))
    >>> at = resampled(one, 10.0, gap_s=50.0)
    >>> at.time_s.tolist(), at.values.ravel().tolist()
    ([10.0, 20.0, 30.0, 40.0], [2.0, 5.0, 5.0, 8.0])
    """
    times, values, begins, rows = [], [], [], []
    for part in series.stretches():
        time, held = series.time_s[part], series.values[part]
        bins = np.floor((time - time[0]) / step_s).astype(np.int64)
        firsts = np.flatnonzero(np.diff(bins, prepend=-1))
        counts = np.diff(np.append(firsts, len(bins)))
        means = np.add.reduceat(held, firsts, axis=0) / counts[:, None]
        every = np.arange(bins[-1] + 1)
        source = np.searchsorted(bins[firsts], every, side="right") - 1
        times.append(time[0] + (every + 1) * step_s)
        values.append(means[source])
        begins.append(every == 0)
        rows.append(series.rows[part][np.append(firsts[1:], len(bins)) - 1][source])
    return Series(
        series.series_id,
        np.concatenate(times),
        np.concatenate(values),
        np.concatenate(begins),
        np.concatenate(rows),
    )


def _check(step_s: float | None, gap_s: float | None, min_samples: int) -> None:
    for name, value in (("step_s", step_s), ("gap_s", gap_s)):
        if value is not None and not 0 < value < np.inf:
            raise ParameterError(f"{name} is {value}. Pass seconds above 0.")
    if min_samples < 1:
        raise ParameterError(f"min_samples is {min_samples}. Pass 1 or more.")


def _metrics(usage: pd.DataFrame, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the metrics to use: those named, or all that vary."""
    for column in ("series_id", "time_s"):
        if column not in usage:
            raise MissingColumnError(
                f"the usage table has no column {column}. It has: {', '.join(map(str, usage))}."
            )
    numeric = [
        str(name)
        for name in usage.columns
        if name not in ("series_id", "time_s") and pd.api.types.is_numeric_dtype(usage[name])
    ]
    if wanted is not None:
        if isinstance(wanted, str) or not wanted:
            raise ParameterError(f"metrics is {wanted!r}. Pass a list of column names.")
        for name in wanted:
            if name not in numeric:
                raise MissingColumnError.among(
                    f"the series have no metric {name!r}.", name, numeric
                )
        return tuple(dict.fromkeys(wanted))
    varying = tuple(name for name in numeric if usage[name].nunique(dropna=True) > 1)
    if not varying:
        raise InputError(
            "no metric of the usage table varies"
            + (f" ({', '.join(numeric)} are constant)" if numeric else "")
            + ", so there are no phases to find. Take more samples, or other metrics."
        )
    return varying


def _usual_step(time_s: Floats) -> float:
    steps = np.diff(time_s)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 0.0


def _uneven(time_s: Floats) -> bool:
    """Say whether many steps of a series are not about the usual one; pauses do not count."""
    usual = _usual_step(time_s)
    steps = np.diff(time_s)
    steps = steps[(steps > 0) & (steps <= GAP_STEPS * usual)]
    return len(steps) > 0 and float((np.abs(steps - usual) > 0.25 * usual).mean()) > _UNEVEN


def _slowest_step(steps: Sequence[tuple[float, int]]) -> float:
    """Return the longest usual step, but for series that hold hardly any of the samples."""
    known = sorted((step, samples) for step, samples in steps if step > 0)
    if not known:
        return 1.0
    held = np.cumsum([samples for _, samples in known])
    return known[int(np.searchsorted(held, _HELD * held[-1]))][0]


@dataclass
class _Log:
    """What was mended, counted over all series."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    closing: list[str] = field(default_factory=list)

    def say(self, count: int, one: str, many: str) -> None:
        if count:
            self.counts[one, many] = self.counts.get((one, many), 0) + count

    def missing_if(self, bad: NDArray[np.bool_], values: Floats) -> Floats:
        self.say(
            int(bad.sum()),
            "infinite value was taken as missing.",
            "infinite values were taken as missing.",
        )
        return np.where(bad, np.nan, values)

    def steps(self, usual: Sequence[float], times: Sequence[Floats], step_s: float | None) -> bool:
        """Say that steps vary between series or inside them; return whether inside."""
        if not usual or step_s is not None:
            return False
        if max(usual) > 2 * min(usual):
            self.closing.append(
                f"usual steps differ between series, {min(usual):g} to {max(usual):g} s; time is "
                "counted in samples. Pass a step to bring them to one."
            )
            return False
        uneven = sum(map(_uneven, times))
        if uneven:
            self.closing.append(
                f"{counted(uneven, 'series has', 'series have')} irregular steps; time is counted "
                "in samples. Pass a step to bring them to one."
            )
        return uneven > 0

    def notes(self) -> list[str]:
        said = []
        for (one, many), count in self.counts.items():
            text = counted(count, one, many)
            left = "was" if count == 1 else "were"
            said.append(text if text.endswith(".") else f"{text} and {left} left out.")
        if self.refused:
            first, why = next(iter(self.refused.items()))
            said.append(f"{counted(len(self.refused), 'series', 'series')} refused: {first} {why}.")
        return said + self.closing


def _mended(
    series_id: str,
    time_s: Floats,
    values: Floats,
    rows: Ints,
    names: tuple[str, ...],
    gap_s: float,
    log: _Log,
) -> Series | None:
    """Return one series in order, each time once, without missing values; or say why not."""
    empty = np.asarray(np.isnan(values).all(axis=0))
    if empty.any():
        absent = ", ".join(name for name, no in zip(names, empty, strict=True) if no)
        log.refused[series_id] = f"has no value of {absent}"
        return None
    log.say(
        int((np.diff(rows) < 0).any()),
        "series came out of order and was sorted.",
        "series came out of order and were sorted.",
    )
    again = np.append(np.diff(time_s) == 0, False)
    if again.any():
        before, after = np.flatnonzero(again), np.flatnonzero(again) + 1
        same = ((values[before] == values[after]) | np.isnan(values[before])).all(axis=1)
        if (~same).sum() > max(1, _OVERLAP * len(time_s)):
            at = time_s[before[~same][0]]
            log.refused[series_id] = (
                f"has {(~same).sum():,} pairs of different samples at one time, the first at "
                f"{at:.0f} s: two series seem to share this id; give each its own"
            )
            return None
        log.say(
            int(same.sum()),
            "row repeats another and was left out.",
            "rows repeat another and were left out.",
        )
        log.say(
            int((~same).sum()),
            "row was replaced by a later one of the same time.",
            "rows were replaced by later ones of the same time.",
        )
        time_s, values, rows = time_s[~again], values[~again], rows[~again]
    values, known = _carried(time_s, values, gap_s, log)
    time_s, values, rows = time_s[known], values[known], rows[known]
    begins = np.diff(time_s, prepend=-np.inf) > gap_s
    log.say(
        int(begins[1:].sum()),
        f"pause of more than {gap_s:g} s starts a new history.",
        f"pauses of more than {gap_s:g} s start a new history.",
    )
    return Series(series_id, time_s, values, begins, rows)


def _carried(
    time_s: Floats, values: Floats, gap_s: float, log: _Log
) -> tuple[Floats, NDArray[np.bool_]]:
    """Put the last known value in the place of missing ones, unless it is too old."""
    missing = np.isnan(values)
    if not missing.any():
        return values, np.ones(len(values), dtype=bool)
    place = np.where(missing, -1, np.arange(len(values))[:, None])
    last = np.maximum.accumulate(place, axis=0)
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    usable = (last >= 0) & (time_s[:, None] - time_s[np.maximum(last, 0)] <= gap_s)
    filled = np.where(usable, values[np.maximum(last, 0), columns], np.nan)
    known = np.asarray(np.isfinite(filled).all(axis=1))
    log.say(
        int((missing & usable).sum()),
        "missing value took the last one before it.",
        "missing values took the last one before them.",
    )
    log.say(
        int((~known).sum()),
        "sample has no recent value of a metric",
        "samples have no recent value of a metric",
    )
    return filled, known


def _nothing_left(refused: Mapping[str, str], rows: int) -> str:
    if not refused:
        return f"the usage table has {counted(rows, 'row')} and no series in it."
    shown = [f"{name} {why}" for name, why in list(refused.items())[:3]]
    more = f"; and {len(refused) - 3:,} more" if len(refused) > 3 else ""
    return f"no series can be used: {'; '.join(shown)}{more}."
