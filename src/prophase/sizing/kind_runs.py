"""The runs of one kind as arrays, in the order they ended: what its recommendation is made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sizing.ladder_from_peaks import RUNS
from prophase.sizing.least_waste.ladder import Floats
from prophase.sizing.replays.task_runs import TaskRun, UsableRuns, per_value
from prophase.sizing.resources import Resource
from prophase.sizing.sizer import CODE, code_number, code_of, number_of_code
from prophase.trace.identity.folding import folded_numbers
from prophase.trace.identity.job_identity import Key, identity_codes

#: what a run killed at its limit is taken to need: the middle (of logarithms) between the limit
#: and twice as much
_MORE_THAN_THE_LIMIT = 2.0**0.5
#: runs of a kind that a model file keeps, the latest ones
KEPT = RUNS
_ROWS = (
    "measured", "runtime_h", "requests", "when_s", "end_s", "instances", "was_cut_off", "input_gib",
    "code", "origin",
)  # fmt: skip


@dataclass(frozen=True)
class KindRuns:
    """Runs of one kind, oldest first; a row of ``values`` per quantity."""

    values: Floats
    tenant: str = ""
    kind: str = ""

    def __post_init__(self) -> None:
        # earlier model files lack the rows that were added since
        lacks = len(_ROWS) - len(self.values)
        if lacks:
            unknown = np.full((lacks, self.values.shape[1]), np.nan)
            object.__setattr__(self, "values", np.concatenate([self.values, unknown]))

    @staticmethod
    def of(runs: Sequence[TaskRun]) -> KindRuns:
        """Return runs of one kind, in the order they ended."""
        rows = [
            (
                run.peak, run.runtime_h, run.request, run.submit_s, run.end_s, run.instances,
                float(run.cut_off), float(run.features.get("input_gib", np.nan)),
                code_number(run.features), run.origin,
            )
            for run in sorted(runs, key=lambda run: run.end_s)
        ]  # fmt: skip
        return KindRuns(np.array(rows).T, runs[0].tenant, runs[0].kind)

    def and_then(self, later: KindRuns) -> KindRuns:
        """Return these runs and later ones."""
        values = np.concatenate([self.values, later.values], axis=1)
        return KindRuns(values, later.tenant, later.kind).sorted()

    def sorted(self) -> KindRuns:
        """Return them in the order they ended."""
        order = np.argsort(self.ends_s, kind="stable")
        return KindRuns(self.values[:, order], self.tenant, self.kind)

    def latest(self, count: int = KEPT) -> KindRuns:
        """Return the latest runs alone."""
        return KindRuns(self.values[:, -count:], self.tenant, self.kind)

    def of_latest_code(self) -> KindRuns:
        """Return the runs of the version of the code that ran last, and those that name none."""
        codes = self._row("code")
        known = codes == codes
        if not known.any():
            return self
        latest = codes[known][-1]
        return KindRuns(self.values[:, ~known | (codes == latest)], self.tenant, self.kind)

    @property
    def code(self) -> float:
        """The version of the code that ran last, as a number; NaN if none is named."""
        codes = self._row("code")
        known = codes[codes == codes]
        return float(known[-1]) if len(known) else math.nan

    def __len__(self) -> int:
        return int(self.values.shape[1])

    @property
    def cut_off(self) -> NDArray[np.bool_]:
        """Runs that were killed at their limit."""
        return self._row("was_cut_off") > 0

    @property
    def peaks(self) -> Floats:
        """What each run needed; of a killed one only that it was more than its limit is known."""
        more: Floats = np.where(self.cut_off, _MORE_THAN_THE_LIMIT, 1.0)
        return self.peaks_or_limits * more

    @property
    def peaks_or_limits(self) -> Floats:
        """The highest use of each run; of a killed one, where it was killed."""
        return self._row("measured")

    @property
    def requests(self) -> Floats:
        """What each run asked for; NaN if nothing."""
        return self._row("requests")

    @property
    def when_s(self) -> Floats:
        """When each run was submitted."""
        return self._row("when_s")

    @property
    def inputs_gib(self) -> Floats:
        """Sizes of inputs; NaN where they are not known."""
        return self._row("input_gib")

    @property
    def origins(self) -> Floats:
        """The sample or execution of each run, as a number; NaN where it is not known."""
        return self._row("origin")

    @property
    def ends_s(self) -> Floats:
        """When each run ended."""
        return self._row("end_s")

    def hours(self, what: Resource) -> Floats:
        """Return how long each run held its request, over all its instances.

        Each instance of a gang holds what the row asks for; a time limit is not held.
        """
        held = np.maximum(self._row("runtime_h"), 1e-5) if what.held else 1.0
        hours: Floats = self._row("instances") * held
        return hours

    def _row(self, name: str) -> Floats:
        row: Floats = self.values[_ROWS.index(name)]
        return row


def runs_by_kind(found: UsableRuns) -> dict[Key, KindRuns]:
    """Return the runs of every kind, in the order in which kinds were first submitted.

    All are parts of one array, so that tens of millions of runs have room.
    """
    codes, keys = identity_codes(found.jobs)
    codes, first = pd.factorize(codes[found.rows])
    order = np.lexsort((found.end_s, codes))
    values = np.empty((len(_ROWS), len(order)))
    # the last ones take most memory to find: first, while the array is empty
    for place, name in reversed(list(enumerate(_ROWS))):
        values[place] = _quantity(found, name)[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(first)))
    return {
        keys[code]: KindRuns(values[:, begin:end], *keys[code])
        for code, begin, end in zip(first.tolist(), [0, *ends[:-1]], ends, strict=True)
    }


def _quantity(found: UsableRuns, name: str) -> Floats:
    """Return one row of the values, in the order of submission."""
    made: dict[str, Callable[[], Floats]] = {
        "measured": lambda: found.peak,
        "runtime_h": lambda: found.runtime_h,
        "requests": lambda: found.request,
        "when_s": lambda: found.submit_s,
        "end_s": lambda: found.end_s,
        "instances": lambda: found.instances,
        "was_cut_off": lambda: found.cut_off.astype(np.float64),
        "input_gib": lambda: found.inputs_gib,
        "code": lambda: _codes(found),
        "origin": lambda: found.origins,
    }
    return made[name]()


def versions_in(found: UsableRuns) -> dict[float, str]:
    """Return the versions of code that runs name, by their number."""
    words: dict[float, str] = {}
    _codes(found, words)
    return words


def _codes(found: UsableRuns, words: dict[float, str] | None = None) -> Floats:
    """Return the version of the code of each run as a number; ``words`` gets what each stands for.

    The number is what :func:`code_number` writes.
    """
    jobs, number = found.jobs, np.full(len(found.jobs), np.nan)
    for what in CODE:

        def named(value: object, what: str = what) -> float:
            code = code_of({what: value})
            if code is not None and words is not None:
                words[number_of_code(code)] = code
            return math.nan if code is None else number_of_code(code)

        def in_name(name: object, what: str = what) -> float:
            said = folded_numbers(str(name)) if what in str(name).lower() else {}
            return named(said.get(what), what)

        told, unknown = np.full(len(jobs), np.nan), np.ones(len(jobs), np.bool_)
        if (column := f"attr_{what}") in jobs:
            values = jobs[column]
            numeric = values.dtype.kind in "fiu"
            told = per_value(values.astype(np.float64) if numeric else values, named)
            unknown = values.isna().to_numpy()
        if found.rule.folds_name and "name" in jobs:
            told = np.where(unknown, per_value(jobs["name"], in_name), told)
        number = np.where(np.isnan(number), told, number)
    return number[found.rows]
