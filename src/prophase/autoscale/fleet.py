"""The use of one resource by many series, cut into the intervals between decisions.

An allocation is chosen every ``every`` samples from what came before and holds until the next
choice. All series lie behind one another in flat arrays, so that a policy decides for a whole
fleet at once; ``waves`` lists the decisions that can be taken together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, MissingColumnError, ParameterError, not_among
from prophase.trace.series.usage_series import SeriesSet, series_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Number = TypeVar("_Number", np.float64, np.int64)

#: what is allocated if no metric is named: the first of these that a table has
_USUAL = (
    "memory_gib",
    "memory_util_frac",
    "gpu_memory_gib",
    "cpu_cores",
    "cpu_util_pct",
    "gpu_util_pct",
)
#: metrics beside the allocated one that a policy may look at, those with most values first
_MOST_OTHERS = 4
#: a pause of more steps begins a new run
_GAP_STEPS = 5
#: samples that a value of another metric is carried on over holes
_CARRIED = 5


@dataclass(frozen=True)
class Fleet:
    """Uninterrupted runs of use, behind one another.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0, 2.0, 3.0, 4.0, 5.0], [7.0, 8.0]], every=2)
    >>> fleet.decisions, fleet.first_sample.tolist(), fleet.block_peak().tolist()
    (4, [0, 2, 4, 5], [2.0, 4.0, 5.0, 8.0])
    >>> [wave.tolist() for wave in fleet.waves]
    [[0, 3], [1], [2]]
    """

    #: a name per run; runs of one series share it
    series_id: tuple[str, ...]
    #: (samples,) use, run behind run
    use: Floats
    #: (runs,) samples per run
    lengths: Ints
    #: samples between two decisions
    every: int
    step_s: float
    metric: str = "use"
    #: (samples,) clock time of each sample
    time_s: Floats | None = None
    #: metric -> (samples,): what else is known of each sample; NaN where it is not
    others: Mapping[str, Floats] = field(default_factory=dict)
    #: (samples,) the phase that a detector gave each sample, 0 .. phases - 1; None: not labelled
    phase: Ints | None = None
    phases: int = 0

    @classmethod
    def of_runs(
        cls,
        runs: Sequence[Sequence[float]],
        *,
        every: int = 5,
        step_s: float = 60.0,
        series_id: Sequence[str] | None = None,
        metric: str = "use",
    ) -> Fleet:
        """Return a fleet of plain lists of use, one per run."""
        names = series_id or [str(number) for number in range(len(runs))]
        lengths = np.array([len(run) for run in runs], np.int64)
        use = np.concatenate([np.asarray(run, np.float64) for run in runs])
        return cls(tuple(names), use, lengths, every, step_s, metric)

    @property
    def samples(self) -> int:
        return len(self.use)

    @property
    def series(self) -> list[str]:
        """Names of the series, each once."""
        return list(dict.fromkeys(self.series_id))

    @cached_property
    def decisions_per_run(self) -> Ints:
        counts: Ints = -(-self.lengths // self.every)
        return counts

    @property
    def decisions(self) -> int:
        return int(self.decisions_per_run.sum())

    @cached_property
    def run_start(self) -> Ints:
        """First sample of each run."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)

    @cached_property
    def run_of_decision(self) -> Ints:
        return np.repeat(np.arange(len(self.lengths)), self.decisions_per_run)

    @cached_property
    def age(self) -> Ints:
        """Samples of its run that each decision can look back on."""
        firsts = np.cumsum(self.decisions_per_run) - self.decisions_per_run
        return (np.arange(self.decisions) - np.repeat(firsts, self.decisions_per_run)) * self.every

    @cached_property
    def first_sample(self) -> Ints:
        """First sample that each decision holds for; the sample before is the last one known."""
        return self.run_start[self.run_of_decision] + self.age

    @cached_property
    def block_length(self) -> Ints:
        """Samples that each decision holds for."""
        left = self.lengths[self.run_of_decision] - self.age
        length: Ints = np.minimum(left, self.every)
        return length

    @cached_property
    def wave_order(self) -> Ints:
        """Decisions wave by wave: the first of every run, the second, ...; longer runs first.

        So the runs of a wave are the first ones of the wave before it.
        """
        rank = np.empty(len(self.lengths), np.int64)
        rank[np.argsort(-self.decisions_per_run, kind="stable")] = np.arange(len(self.lengths))
        return np.lexsort((rank[self.run_of_decision], self.age))

    @cached_property
    def wave_edges(self) -> Ints:
        """Where waves begin in `wave_order`, and where the last one ends."""
        counts = np.bincount(self.age // self.every)
        return np.concatenate([[0], np.cumsum(counts)])

    @property
    def waves(self) -> list[Ints]:
        """The decisions of each wave."""
        return np.split(self.wave_order, self.wave_edges[1:-1])

    def in_waves(self) -> Iterator[tuple[slice, slice]]:
        """Yield places in `wave_order`: a wave after the first, and its runs one wave before."""
        edges = self.wave_edges.tolist()
        for before, start, stop in zip(edges, edges[1:], edges[2:], strict=False):
            yield slice(start, stop), slice(before, before + stop - start)

    def per_sample(self, per_decision: Floats) -> Floats:
        """Return a value per sample from a value per decision."""
        return np.repeat(per_decision, self.block_length)

    def block_peak(self) -> Floats:
        """Return the highest use in the interval after each decision."""
        return np.maximum.reduceat(self.use, self.first_sample)

    def runs(self) -> Iterator[slice]:
        """Yield the samples of each run."""
        for start, length in zip(self.run_start.tolist(), self.lengths.tolist(), strict=True):
            yield slice(start, start + length)

    def only(self, names: Sequence[str]) -> Fleet:
        """Return the runs of some series."""
        wanted = set(names)
        kept = [
            (run, name)
            for run, name in zip(self.runs(), self.series_id, strict=True)
            if name in wanted
        ]
        return self.parts([run for run, _ in kept], [name for _, name in kept])

    def decisions_of(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which decisions belong to some series."""
        wanted = set(names)
        kept = np.array([name in wanted for name in self.series_id])
        found: NDArray[np.bool_] = kept[self.run_of_decision]
        return found

    def parts(self, runs: Sequence[slice], names: Sequence[str]) -> Fleet:
        """Return stretches of samples as runs of their own, with a name each."""

        def taken(values: NDArray[_Number]) -> NDArray[_Number]:
            return np.concatenate([values[run] for run in runs]) if runs else values[:0]

        return Fleet(
            tuple(names),
            taken(self.use),
            np.array([run.stop - run.start for run in runs], np.int64),
            self.every,
            self.step_s,
            self.metric,
            None if self.time_s is None else taken(self.time_s),
            {name: taken(values) for name, values in self.others.items()},
            None if self.phase is None else taken(self.phase),
            self.phases,
        )


def fleet_of(
    usage: pd.DataFrame, metric: str | None = None, *, every: int = 5
) -> tuple[Fleet, tuple[str, ...]]:
    """Return the fleet of a usage table, and what was mended or left out on the way.

    Parameters
    ----------
    usage : DataFrame
        Long table: ``series_id``, ``time_s`` and a column per metric.
    metric : str, optional
        The resource to allocate: a column. Memory if there is any, then CPU, then GPU, if not
        given.
    every : int, default=5
        Samples between two decisions. Series must be longer than that: the first allocation
        is made without a look at the series, so there would be nothing to judge.
    """
    if every < 1:
        raise ParameterError(f"every is {every}. Pass the number of samples between decisions.")
    for column in ("series_id", "time_s"):
        if column not in usage:
            raise MissingColumnError(f"the usage table has no column {column}.")
    name = metric or usual_metric(usage)
    _check_metric(usage, name)
    beside = _beside(usage, name)
    known = usage.loc[usage[name].notna(), ["series_id", "time_s", name, *beside]]
    if known.empty:
        raise InputError(f"the metric {name} has no value. Choose another with --allocate.")
    found = series_of(known, [name], min_samples=every + 1)
    return _laid_out(found, name, every, known[beside]), found.notes


def live_fleet(
    usage: pd.DataFrame, metric: str, *, every: int, step_s: float, others: Sequence[str] = ()
) -> Fleet:
    """Return runs that may have just begun, cut like those of `fleet_of`.

    Parameters
    ----------
    step_s : float
        Seconds between samples where the policy was learnt.
    others : sequence of str
        Further metrics that the policy looks at; those that the table has not stay unknown.
    """
    beside = [name for name in others if name in usage]
    known = usage.loc[usage[metric].notna(), ["series_id", "time_s", metric, *beside]]
    found = series_of(known, [metric], gap_s=_GAP_STEPS * step_s, min_samples=1)
    return _laid_out(found, metric, every, known[beside])


def _beside(usage: pd.DataFrame, metric: str) -> list[str]:
    """Return the other metrics that have most values where this one has one."""
    table = usage.loc[usage[metric].notna(), [name for name in _numeric(usage) if name != metric]]
    counts = table.notna().sum()
    varying = [str(name) for name in counts.index if table[name].nunique() > 1]
    return sorted(varying, key=lambda name: -int(counts[name]))[:_MOST_OTHERS]


def _laid_out(found: SeriesSet, metric: str, every: int, beside: pd.DataFrame) -> Fleet:
    names, parts, times, rows = [], [], [], []
    for one in found.series:
        for part in one.stretches():
            names.append(one.series_id)
            # tiny negative readings are noise of the sensor: nobody uses less than nothing
            parts.append(np.maximum(one.values[part, 0], 0.0))
            times.append(one.time_s[part])
            rows.append(one.rows[part])
    lengths = np.array([len(part) for part in parts], np.int64)
    run = np.repeat(np.arange(len(parts)), lengths)
    taken = beside.iloc[np.concatenate(rows)].to_numpy(np.float64, na_value=np.nan)
    others = pd.DataFrame(taken, columns=beside.columns).groupby(run).ffill(limit=_CARRIED)
    return Fleet(
        tuple(names),
        np.concatenate(parts),
        lengths,
        every,
        found.step_s,
        metric,
        np.concatenate(times),
        {str(name): others[name].to_numpy(np.float64) for name in others},
    )


def _numeric(usage: pd.DataFrame) -> list[str]:
    return [
        str(name)
        for name in usage.columns
        if name not in ("series_id", "time_s") and pd.api.types.is_numeric_dtype(usage[name])
    ]


def usual_metric(usage: pd.DataFrame) -> str:
    """Return the metric that is allocated if none is named."""
    names = [name for name in _numeric(usage) if usage[name].notna().any()]
    if not names:
        raise InputError("the usage table has no metric with values, so nothing to allocate.")
    return next((name for name in _USUAL if name in names), names[0])


def _check_metric(usage: pd.DataFrame, name: str) -> None:
    names = _numeric(usage)
    if name not in names:
        raise MissingColumnError(not_among(f"the series have no metric {name!r}.", name, names))
