"""The dynamic part of profiles, kept up to date with every finished job and without a refit.

Count, mean, standard deviation, least and largest are exact. Quantiles and histograms are exact
up to 3,000 jobs of a profile and come from a sketch beyond. Trend, daily pattern and the names
of anomalous jobs are estimated from up to 2,000 jobs, drawn evenly from all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.profile.clusters.metric_summary import QUANTILES, MetricSummary, summarise
from prophase.profile.clusters.profiles import Profile
from prophase.profile.predict.submit_columns import job_ids, numbers

#: jobs of a profile whose clock and name are kept
DRAWN = 2_000
_BINS = 20
_FENCE = 3.0


class LiveProfiles:
    """Summaries per profile and metric that grow with every finished job.

    Parameters
    ----------
    metrics : sequence of str
        Columns to be summarised; those a table lacks count as missing.

    Examples
    --------
    >>> live = LiveProfiles(["duration_s"])
    >>> jobs = pd.DataFrame({"job_id": list("abc"), "duration_s": [10.0, 20.0, 60.0]})
    >>> live.update(jobs, np.array([0, 0, 1]))
    >>> live.update(jobs.assign(job_id=list("def")), np.array([0, 1, 1]))
    >>> live.summary(0, "duration_s").mean, live.jobs_[1]
    (13.333333333333334, 3)
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self.metrics = list(metrics)
        self.jobs_: dict[int, int] = {}
        self.sketches_: dict[tuple[int, str], Sketch] = {}
        self.drawn_: dict[int, pd.DataFrame] = {}

    def update(self, jobs: pd.DataFrame, labels: Ints) -> None:
        """Take finished jobs and the profile of each."""
        clock = next((n for n in ("submit_s", "start_s") if n in jobs), None)
        table = pd.DataFrame({name: numbers(jobs, name) for name in self.metrics})
        table["clock_s"] = numbers(jobs, clock) if clock else np.nan
        table["job_id"] = job_ids(jobs).to_numpy(dtype=object)
        # an even draw that does not depend on how the stream is cut
        table["lot"] = pd.util.hash_array(table["job_id"].to_numpy(dtype=object), categorize=False)
        for number in np.unique(labels).tolist():
            part = table[labels == number]
            self.jobs_[number] = self.jobs_.get(number, 0) + len(part)
            for name in self.metrics:
                values = part[name].to_numpy(np.float64)
                sketch = self.sketches_.setdefault((number, name), Sketch())
                sketch.add(values[np.isfinite(values)])
            held = pd.concat([self.drawn_[number], part]) if number in self.drawn_ else part
            if len(held) > DRAWN:
                held = held.nsmallest(DRAWN, "lot", keep="first").sort_index(kind="stable")
            self.drawn_[number] = held.reset_index(drop=True)

    def summary(self, profile: int, metric: str) -> MetricSummary | None:
        """Return what is known of a metric in a profile; None if no job has a value."""
        drawn = self.drawn_.get(profile)
        sketch = self.sketches_.get((profile, metric))
        if drawn is None or sketch is None or not sketch.count:
            return None
        clock = drawn["clock_s"].to_numpy(np.float64)
        summary = summarise(
            drawn[metric].to_numpy(np.float64),
            clock if np.isfinite(clock).any() else None,
            drawn["job_id"].tolist(),
        )
        if summary is None or self.jobs_[profile] == len(drawn):
            return summary
        edges = np.linspace(sketch.least, sketch.largest, _BINS + 1)
        below = sketch.below(edges)
        below[0], below[-1] = 0.0, sketch.count
        q25, q75 = sketch.quantile(0.25), sketch.quantile(0.75)
        room = _FENCE * max(q75 - q25, 1e-9 * max(abs(q25), abs(q75), 1.0))
        inside = sketch.below(np.array([q25 - room, q75 + room]))
        return replace(
            summary,
            n=sketch.count,
            missing=self.jobs_[profile] - sketch.count,
            mean=sketch.mean,
            std=sketch.std,
            least=sketch.least,
            largest=sketch.largest,
            quantiles={f"q{round(100 * q):02d}": sketch.quantile(q) for q in QUANTILES},
            histogram={"edges": edges.tolist(), "jobs": np.diff(below).tolist()},
            anomalies=round(sketch.count - float(inside[1] - inside[0])),
        )

    def refreshed(self, profiles: Sequence[Profile]) -> list[Profile]:
        """Return the profiles with their dynamic part as it is now."""
        total = max(sum(self.jobs_.get(one.profile, 0) for one in profiles), 1)
        found = []
        for one in profiles:
            jobs = self.jobs_.get(one.profile, 0)
            summaries = {name: self.summary(one.profile, name) for name in self.metrics}
            dynamic = {name: held for name, held in summaries.items() if held is not None}
            found.append(replace(one, n=jobs, share=jobs / total, dynamic=dynamic) if jobs else one)
        return found


# Quantiles of a stream that is not kept: a sketch (Dunning and Ertl's t-digest).
#
# Values are kept sorted and, beyond a cap, merged with their neighbours: finely near both ends,
# coarsely in the middle. Count, mean, standard deviation, least and largest stay exact.


#: values kept as they are; beyond, about a third as many groups
EXACT = 3_000
_GROUPS = 1_000


class Sketch:
    """Distribution of the values seen so far.

    Examples
    --------
    >>> sketch = Sketch()
    >>> for part in np.split(np.arange(10_000.0), 100):
    ...     sketch.add(part)
    >>> sketch.count, float(sketch.mean), bool(abs(sketch.quantile(0.99) - 9899) < 10)
    (10000, 4999.5, True)
    """

    def __init__(self) -> None:
        self.values = np.empty(0)
        self.weights = np.empty(0)
        self.count = 0
        self.mean = 0.0
        #: sum of squared distances to the mean
        self.scatter = 0.0
        self.least = np.inf
        self.largest = -np.inf

    @property
    def std(self) -> float:
        """Sample standard deviation; 0 of a single value."""
        return float(np.sqrt(self.scatter / (self.count - 1))) if self.count > 1 else 0.0

    def add(self, values: Floats) -> None:
        """Take further values; all are finite."""
        if not len(values):
            return
        self._add_moments(len(values), float(values.mean()), float(values.var() * len(values)))
        self.least = min(self.least, float(values.min()))
        self.largest = max(self.largest, float(values.max()))
        self._put(values, np.ones(len(values)))

    def quantile(self, share: float) -> float:
        """Return the value that this share of all stays below; exact up to the cap."""
        if self.count == len(self.values):
            return float(np.quantile(self.values, share))
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        places = np.concatenate([[0.0], middle, [float(self.count)]])
        held = np.concatenate([[self.least], self.values, [self.largest]])
        return float(np.interp(share * self.count, places, held))

    def below(self, edges: Floats) -> Floats:
        """Return how many values lie below each edge."""
        if self.count == len(self.values):
            return np.searchsorted(self.values, edges, side="left").astype(np.float64)
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        places = np.concatenate([[0.0], middle, [float(self.count)]])
        held = np.concatenate([[self.least], self.values, [self.largest]])
        return np.asarray(np.interp(edges, held, places))

    def _add_moments(self, count: int, mean: float, scatter: float) -> None:
        # Chan et al. (1983): means and squares of two parts
        apart = mean - self.mean
        total = self.count + count
        self.scatter += scatter + apart**2 * self.count * count / total
        self.mean += apart * count / total
        self.count = total

    def _put(self, values: Floats, weights: Floats) -> None:
        both = np.concatenate([self.values, values])
        order = np.argsort(both, kind="stable")
        self.values = both[order]
        self.weights = np.concatenate([self.weights, weights])[order]
        if len(self.values) > EXACT:
            share = (np.cumsum(self.weights) - 0.5 * self.weights) / self.weights.sum()
            group = (_GROUPS * np.arcsin(2.0 * share - 1.0) / np.pi).astype(np.int64)
            group -= group.min()
            mass = np.bincount(group, self.weights).astype(np.float64)
            sums = np.bincount(group, self.weights * self.values).astype(np.float64)
            held = mass > 0
            self.values, self.weights = sums[held] / mass[held], mass[held]
