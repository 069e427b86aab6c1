"""Draw fewer jobs that stand for all: each stratum keeps its share.

Each stratum gets its share of the wanted size, rounded on its own to the nearest
whole number. The total may so differ from the wanted size by a few rows: asking for
100,000 of the 36,690,185 rows in Table I of the PolarisProfiler paper gives its nine
sizes and its total of 100,001.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.plural import counted

#: how rows without a value in the column are called
MISSING = "(missing)"


@dataclass(frozen=True)
class Sample:
    """Row numbers that were drawn, in their order, and what each stratum had and gave."""

    rows: NDArray[np.intp]
    #: stratum -> rows in the table
    population: Mapping[str, int]
    #: stratum -> rows drawn
    drawn: Mapping[str, int]
    notes: tuple[str, ...] = ()


def sample_jobs(
    jobs: pd.DataFrame, by: str = "workload", size: int | None = None, *, random_state: int = 0
) -> pd.DataFrame:
    """Return a stratified proportional sample of the job table, in its order.

    Parameters
    ----------
    by : str, default="workload"
        Column whose values are the strata. Rows without a value are a stratum of their own.
    size : int, optional
        Wanted number of rows. Without it, Cochran's size for 95 % and 5 points.
    random_state : int, default=0
        Seed; the same seed draws the same rows.

    Examples
    --------
    >>> jobs = pd.DataFrame({"workload": ["bert"] * 60 + ["vgg"] * 40})
    >>> sample_jobs(jobs, size=10)["workload"].value_counts().to_dict()
    {'bert': 6, 'vgg': 4}
    """
    if by not in jobs:
        raise MissingColumnError.among(
            f"the job table has no column {by!r} to sample by.",
            by,
            map(str, jobs.columns),
            heading="It has",
        )
    return jobs.iloc[draw_sample(jobs[by], size, random_state=random_state).rows]


def draw_sample(labels: pd.Series, size: int | None = None, *, random_state: int = 0) -> Sample:
    """Draw rows so that each label keeps its share; see ``sample_jobs``."""
    if len(labels) == 0:
        raise InputError("the table has no rows, so there is nothing to sample.")
    codes, found = pd.factorize(labels, sort=True)
    names = [str(name) for name in found]
    if (codes < 0).any():
        codes = np.where(codes < 0, len(names), codes)
        names.append(MISSING)
    counts = np.bincount(codes, minlength=len(names))
    population = dict(zip(names, counts.tolist(), strict=True))
    wanted = cochran_size(len(labels)) if size is None else size
    drawn = sample_sizes(population, wanted)
    generator = np.random.default_rng(random_state)
    by_stratum = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    chosen = [
        generator.choice(rows, drawn[name], replace=False)
        for name, rows in zip(names, by_stratum, strict=True)
    ]
    return Sample(
        rows=np.sort(np.concatenate(chosen)),
        population=population,
        drawn=drawn,
        notes=_notes(size, wanted, drawn),
    )


def sample_sizes(population: Mapping[str, int], size: int) -> dict[str, int]:
    """Return how many rows each stratum gives: its share of ``size``, rounded to the nearest.

    Examples
    --------
    >>> sample_sizes({"bert": 10_940_142, "ctr": 9_128_957, "rest": 16_621_086}, 100_000)
    {'bert': 29818, 'ctr': 24881, 'rest': 45301}
    """
    total = sum(population.values())
    if not 1 <= size <= total:
        raise ParameterError(f"size is {size:,}, but lies between 1 and the {total:,} rows.")
    # whole numbers throughout: halves round up, and no stratum is too large for a float
    return {name: (2 * size * count + total) // (2 * total) for name, count in population.items()}


def cochran_size(
    population: int, confidence: float = 0.95, margin: float = 0.05, proportion: float = 0.5
) -> int:
    """Return how many rows are enough to estimate a share within a margin (Cochran 1977).

    Parameters
    ----------
    population : int
        Number of rows to draw from; a small one needs fewer.
    confidence : float, default=0.95
        How often the true share lies within the margin.
    margin : float, default=0.05
        Half width of the interval around the estimated share.
    proportion : float, default=0.5
        The share expected; 0.5 is the safe choice.

    Examples
    --------
    >>> cochran_size(36_690_185), cochran_size(1000)
    (385, 278)
    """
    for name, value in (("confidence", confidence), ("margin", margin), ("proportion", proportion)):
        if not 0 < value < 1:
            raise ParameterError(f"{name} is {value}, but lies between 0 and 1.")
    if population < 1:
        raise ParameterError(f"population is {population}, but has at least one row.")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    unlimited = z**2 * proportion * (1 - proportion) / margin**2
    return min(population, math.ceil(unlimited / (1 + (unlimited - 1) / population)))


def take_rows(path: Path, rows: NDArray[np.intp], columns: list[str]) -> pd.DataFrame:
    """Return some rows of a Parquet file, one block in memory at a time."""
    blocks = []
    start = 0
    for batch in pq.ParquetFile(path).iter_batches(columns=columns):
        low, high = np.searchsorted(rows, [start, start + batch.num_rows])
        if high > low:
            blocks.append(batch.take(pa.array(rows[low:high] - start)))
        start += batch.num_rows
    frame: pd.DataFrame = pa.Table.from_batches(blocks).to_pandas()
    return frame


def _notes(size: int | None, wanted: int, drawn: Mapping[str, int]) -> tuple[str, ...]:
    notes = []
    total = sum(drawn.values())
    if size is None:
        notes.append(
            f"No size was given: {counted(wanted, 'row')} estimate any share within 5 points, "
            "95 % of the time (Cochran)."
        )
    if total != wanted:
        notes.append(
            f"{counted(total, 'row')} instead of {wanted:,}, because each stratum is rounded."
        )
    lost = [name for name, count in drawn.items() if count == 0]
    if lost:
        shown = ", ".join(lost[:5]) + (" ..." if len(lost) > 5 else "")
        notes.append(f"{len(lost):,} strata are too small for a row at this size: {shown}.")
    return tuple(notes)
