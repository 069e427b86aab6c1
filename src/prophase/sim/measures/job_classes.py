"""Classes of jobs: by any column, by length and GPUs, or by requested GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import ParameterError, not_among
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

#: classes that every workload has, beside the columns of its job table
BUILT_IN = {
    "class": "short or long x low or high GPU",
    "gpus": "requested GPUs, all instances together",
}
_SHORT_BELOW_S, _LOW_GPUS, _MOST_SIZES = 3600.0, 1.0, 12
_MISSING = "not stated"


@dataclass(frozen=True)
class JobClasses:
    """A class for every job: ``code`` numbers it, ``names`` tells what the numbers mean."""

    by: str
    code: Ints
    names: tuple[str, ...]

    def rows(self) -> Iterator[tuple[str, Ints]]:
        """Yield each class with the rows of its jobs, in the order of the names."""
        order = np.argsort(self.code, kind="stable")
        counts = np.bincount(self.code, minlength=len(self.names))
        pieces = np.split(order, np.cumsum(counts)[:-1])
        yield from zip(self.names, pieces, strict=True)


def groups_of(workload: Workload, by: str) -> JobClasses:
    """Sort jobs into classes.

    Parameters
    ----------
    by : str
        ``"class"``: shorter than an hour or not x no, at most one, or more GPUs. ``"gpus"``:
        GPUs asked for. Otherwise a column of the job table, such as ``"user"``.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": [60.0, 7200.0]})
    >>> jobs["request_gpus"] = [0.5, 8.0]
    >>> groups_of(Workload.from_jobs(jobs), "class").names
    ('short, low GPU', 'long, high GPU')
    """
    if by == "class":
        return _from_codes(by, *_length_and_gpus(workload))
    if by == "gpus":
        return _from_codes(by, *_sizes(workload.gpus))
    if by not in workload.jobs:
        said = f"the job table has no column {by!r} to form classes by."
        raise ParameterError(not_among(said, by, [*BUILT_IN, *workload.jobs.columns], most=20))
    values = workload.jobs[by]
    texts = values.astype(object).where(values.notna(), _MISSING).astype(str)
    codes, names = pd.factorize(texts, sort=True)
    # the largest first: a table of a thousand users is read from the top
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    return JobClasses(by, place[codes], tuple(str(names[number]) for number in order))


def _length_and_gpus(workload: Workload) -> tuple[Ints, list[str]]:
    gpus = workload.gpus
    level = np.where(gpus == 0, 0, np.where(gpus <= _LOW_GPUS, 1, 2))
    code = 3 * (workload.duration_s >= _SHORT_BELOW_S) + level
    levels = ("no GPU", "low GPU", "high GPU")
    return code, [f"{length}, {name}" for length in ("short", "long") for name in levels]


def _sizes(gpus: Floats) -> tuple[Ints, list[str]]:
    """Return a class per number of GPUs, or per power of two where there are too many."""
    sizes, code = np.unique(gpus, return_inverse=True)
    if len(sizes) <= _MOST_SIZES:
        return code, [f"{size:g}" for size in sizes]
    # up to 1, 2, 4, 8 ... GPUs
    top = int(np.ceil(np.log2(max(sizes[-1], 2.0))))
    edges = np.r_[0.0, 2.0 ** np.arange(top + 1)]
    wider = [f"over {edge / 2:g} up to {edge:g}" for edge in edges[2:]]
    return np.searchsorted(edges, gpus), ["0", "up to 1", *wider]


def _from_codes(by: str, code: Ints, names: list[str]) -> JobClasses:
    """Keep the classes that have jobs."""
    there, new = np.unique(code, return_inverse=True)
    return JobClasses(by, new.astype(np.int64), tuple(names[number] for number in there))
