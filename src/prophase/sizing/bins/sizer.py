"""The thesis' bins as a sizer: per task, bins found in its history and a weighted SVM.

Nothing is tuned between runs, which would take seconds; the settings are those that the search
of ``prophase reproduce thesis`` finds most often.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from prophase.errors import InputError
from prophase.sizing.bins.binning import Binning, improvement, search_binning
from prophase.sizing.bins.classifiers import SupportVectors
from prophase.sizing.bins.preprocessing import Preprocessing
from prophase.sizing.resources import round_up
from prophase.sizing.sizer import Features, OnlineSizer, request_of, request_or_plenty
from prophase.trace.describe.column_arrays import Floats

#: a task keeps its request until it has so many runs
FEWEST_RUNS = 30
#: it is retrained when it has this many times the runs of the last time
_RETRAIN_AT = 1.5
#: of more runs only the latest count
_MOST_RUNS = 1_500
_BINS = 3
#: the grid of edges: this many steps up to the largest peak
_STEPS = 20
#: one more bin has to save this much more of what the largest bin alone would ask for, in points
_WORTH_A_BIN = 10.0
#: runs a bin holds at least: some on each side of a split
_FEWEST_PER_BIN = 5
_SETTINGS = {"C": 30.0, "gamma": 0.03, "balance": 0.8}
#: what a sizer is given that does not describe a run
_NO_FEATURES = ("post", "submit_s", "request_gib")


@dataclass
class _Task:
    """Runs of one task, and what was learned from them."""

    features: list[Features] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)
    hours: list[float] = field(default_factory=list)
    trained_at: int = 0
    #: what a run was last killed at, if none has succeeded since
    killed_gib: float = 0.0
    binning: Binning | None = None
    preprocessing: Preprocessing | None = None
    classifier: SupportVectors | None = None

    def due(self) -> bool:
        """Return whether it is time to learn."""
        return len(self.peaks) >= max(FEWEST_RUNS, _RETRAIN_AT * self.trained_at)


class ThesisBins(OnlineSizer):
    """Ask for the upper edge of the bin a run is predicted to fall into.

    Until a task has 30 runs it keeps its request. The largest bin ends at the largest peak,
    rounded up, as the thesis recommends; there are two or three bins if they save enough. After
    a kill the next bin is tried, beyond the last one the double, up to the request.
    """

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.tasks_: defaultdict[str, _Task] = defaultdict(_Task)

    def predict(self, task: str, features: Features) -> float:
        held = self.tasks_.get(task)
        if held is None or held.binning is None:
            asked = request_or_plenty(features)
        elif held.classifier is None or held.preprocessing is None:
            asked = held.binning.top_gib
        else:
            one = {name: [features.get(name)] for name in held.preprocessing.columns}
            found = int(held.classifier.predict(held.preprocessing.transform(one))[0])
            asked = held.binning.edges_gib[found]
        if held is not None and asked <= held.killed_gib:
            return self.retry(task, features, 2, held.killed_gib)
        return asked

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        held = self.tasks_[task]
        if failed:
            # all that is known is that this was too little
            held.killed_gib = max(held.killed_gib, peak_gib)
            return
        held.killed_gib = 0.0
        held.features.append(features)
        held.peaks.append(peak_gib)
        held.hours.append(runtime_h)
        if held.due():
            _learn(held)

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        held = self.tasks_.get(task)
        edges = held.binning.edges_gib if held is not None and held.binning is not None else ()
        higher = [edge for edge in edges if edge > last_gib]
        if higher:
            return higher[0]
        request = request_of(features)
        doubled = 2.0 * last_gib
        return min(doubled, request) if request is not None and request > last_gib else doubled


def _learn(held: _Task) -> None:
    """Find bins in the history and a classifier for them; static where nothing tells runs apart."""
    held.trained_at = len(held.peaks)
    peak = np.array(held.peaks[-_MOST_RUNS:])
    hours = np.array(held.hours[-_MOST_RUNS:])
    top = round_up(float(peak.max()))
    held.binning, held.preprocessing, held.classifier = Binning((top,)), None, None
    weight = hours if (hours > 0).any() else np.ones(len(hours))
    binning = _worthwhile(peak, weight, top)
    if len(binning) == 1:
        return
    features = held.features[-_MOST_RUNS:]
    names = sorted({name for one in features for name in one} - set(_NO_FEATURES))
    columns = {name: [one.get(name) for one in features] for name in names}
    try:
        made = Preprocessing().fit(columns, peak, columns=names)
    except InputError:
        # nothing that is known before a run differs between runs
        return
    held.binning, held.preprocessing = binning, made
    held.classifier = SupportVectors(_SETTINGS)
    held.classifier.fit(made.transform(columns), binning.classes(peak))


def _worthwhile(peak: Floats, weight: Floats, top: float) -> Binning:
    """Return as many bins as save enough to be worth telling apart."""
    best = Binning((top,))
    for bins in range(2, _BINS + 1):
        try:
            found = search_binning(
                peak,
                bins=bins,
                stride_gib=top / _STEPS,
                top_gib=top,
                weight=weight,
                fewest=_FEWEST_PER_BIN,
            )
        except InputError:
            # too few runs, or too much alike, for so many bins
            break
        gained = improvement(found, peak, weight=weight) - improvement(best, peak, weight=weight)
        if gained < _WORTH_A_BIN:
            break
        best = found
    return best
