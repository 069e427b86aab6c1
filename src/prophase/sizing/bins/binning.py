"""Bins of memory: a task requests the upper edge of its predicted bin; the best bins of any task.

Few bins, well placed, come close to asking for exactly what is needed. The search is exact:
dynamic programming over all edges on a grid finds what trying every combination would.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.sizing.resources import round_up
from prophase.trace.describe.column_arrays import Floats, Ints


@dataclass(frozen=True)
class Binning:
    """Upper edges of bins in GiB, rising; the last one is the largest request there is.

    Examples
    --------
    >>> bins = Binning((10.0, 60.0, 350.0))
    >>> bins.classes(np.array([3.0, 10.0, 61.0])).tolist()
    [0, 0, 2]
    >>> str(bins)
    '10; 60; 350'
    """

    edges_gib: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = self.edges_gib
        rising = all(low < high for low, high in pairwise(edges))
        if not edges or edges[0] <= 0 or not rising or not np.isfinite(edges).all():
            raise ParameterError(
                f"bins are {edges}; give rising amounts above 0 in GiB, such as 10, 60, 350."
            )

    def __len__(self) -> int:
        return len(self.edges_gib)

    def __str__(self) -> str:
        return "; ".join(f"{edge:g}" for edge in self.edges_gib)

    @property
    def top_gib(self) -> float:
        return self.edges_gib[-1]

    def classes(self, peak_gib: Floats) -> Ints:
        """Return the bin of each peak, 0 the lowest; a peak above all edges is in the last."""
        found = np.searchsorted(self.edges_gib, peak_gib)
        return np.minimum(found, len(self) - 1).astype(np.int64)

    def requests(self, classes: Ints) -> Floats:
        """Return what each class asks for, in GiB."""
        return np.asarray(self.edges_gib, dtype=np.float64)[classes]


def improvement(
    binning: Binning,
    peak_gib: Floats,
    *,
    before_gib: float | None = None,
    weight: Floats | None = None,
) -> float:
    """Return the allocation saved if every peak's bin were known, in percent.

    Parameters
    ----------
    before_gib : float, optional
        What every run asks for now; by itself the largest bin.
    weight : array, optional
        Run times. With them this is the thesis' time-based improvement.

    Examples
    --------
    >>> peak = np.array([5.0] * 9 + [100.0])
    >>> round(improvement(Binning((10.0, 350.0)), peak), 1)
    87.4
    """
    asked = binning.requests(binning.classes(peak_gib))
    held = np.ones(len(peak_gib)) if weight is None else weight
    before = binning.top_gib if before_gib is None else before_gib
    total = float(held.sum()) * before
    if not total > 0:
        raise InputError("no run has a run time above 0, so nothing can be weighed by time.")
    return 100 * (1 - float((asked * held).sum()) / total)


def search_binning(
    peak_gib: Floats,
    *,
    bins: int,
    stride_gib: float,
    top_gib: float,
    weight: Floats | None = None,
    fewest: int = 1,
) -> Binning:
    """Return the bins on a grid that save the most allocation.

    Parameters
    ----------
    peak_gib : array
        Peaks of past runs.
    bins : int
        How many bins; the last one ends at ``top_gib``.
    stride_gib : float
        Edges are multiples of this.
    top_gib : float
        Upper edge of the last bin.
    weight : array, optional
        Run times: search for the best time-based improvement.
    fewest : int, default=1
        Runs that each bin holds at least. Each side of a split has to have some.

    Examples
    --------
    >>> peak = np.array([2.0] * 90 + [25.0] * 8 + [120.0] * 2)
    >>> str(search_binning(peak, bins=3, stride_gib=10, top_gib=350))
    '10; 30; 350'
    """
    _check_search(peak_gib, bins, stride_gib, top_gib, fewest)
    # a hair below the top: the top itself is the last edge
    inner = np.arange(1, int(np.ceil(top_gib / stride_gib - 1e-9))) * stride_gib
    edges = np.append(inner[inner < top_gib], top_gib)
    held = np.ones(len(peak_gib)) if weight is None else weight
    place = np.minimum(np.searchsorted(edges, peak_gib), len(edges) - 1)
    weights = np.cumsum(np.bincount(place, held, minlength=len(edges))).astype(np.float64)
    counts = np.cumsum(np.bincount(place, minlength=len(edges)))
    chosen = _cheapest(edges, weights, counts, bins, fewest)
    if chosen is None:
        raise InputError(
            f"no {bins} bins on a grid of {stride_gib:g} GiB hold {counted(fewest, 'run')} each. "
            "Ask for fewer bins, a finer grid, or fewer runs per bin."
        )
    # multiples of 0.3 such as 19.200000000000003 are written as what they stand for
    return Binning(tuple(round(float(edges[one]), 9) for one in chosen))


def _cheapest(
    edges: Floats, weights: Floats, counts: Ints, bins: int, fewest: int
) -> list[int] | None:
    """Return the places of the edges with the least allocation, or None if none is allowed."""
    size = len(edges)
    least = np.where(counts >= fewest, edges * weights, np.inf)
    comes_from = []
    for _ in range(bins - 1):
        # cost[i, j]: the bins up to edge i, then one from there to edge j
        last = edges[None, :] * (weights[None, :] - weights[:, None])
        allowed = (counts[None, :] - counts[:, None] >= fewest) & np.triu(
            np.ones((size, size), dtype=bool), 1
        )
        cost = np.where(allowed, least[:, None] + last, np.inf)
        comes_from.append(np.argmin(cost, axis=0))
        least = cost.min(axis=0)
    if not np.isfinite(least[-1]):
        return None
    chosen = [size - 1]
    for before in reversed(comes_from):
        chosen.append(int(before[chosen[-1]]))
    return chosen[::-1]


def _check_search(peak: Floats, bins: int, stride: float, top: float, fewest: int) -> None:
    if bins < 1 or not stride > 0 or not top > 0 or fewest < 1:
        raise ParameterError(
            f"bins is {bins}, stride {stride}, top {top}, fewest {fewest}; all have to be above 0."
        )
    if len(peak) < bins:
        raise InputError(
            f"{counted(len(peak), 'run')} cannot fill {bins} bins. Ask for fewer bins, or wait for "
            "more runs."
        )
    if not np.isfinite(peak).all() or (peak < 0).any():
        raise InputError("peaks have to be numbers from 0 up. Leave out runs without one.")
    above = int((peak > top).sum())
    if above:
        raise InputError(
            f"{counted(above, 'peak is', 'peaks are')} above the largest bin of {top:g} GiB, up to "
            f"{peak.max():g}. Raise top_gib: such a run would always be killed."
        )


#: numbers of bins that are tried
BINS = (2, 3, 4)
#: edges lie on a grid of at least so many steps
_STEPS = 40
#: runs each bin holds at least: some for training, validation and test
FEWEST = 5


def best_binnings(peak_gib: Floats, duration_s: Floats, request_gib: float) -> pd.DataFrame:
    """Return the best bins of a task, each with what it saves if every bin were known.

    Parameters
    ----------
    peak_gib, duration_s : array
        Past runs. Without run times above 0 only runs are counted.
    request_gib : float
        What every run asks for now.

    Returns
    -------
    DataFrame
        ``bins``, ``by`` (runs or time), ``binning``, ``optimal_pct``, ``time_based_pct``; no
        rows if the runs are too few or too much alike. The largest bin ends at the largest
        peak, rounded up, and not above the request.

    Examples
    --------
    >>> peak = np.array([2.0] * 80 + [25.0] * 15 + [90.0] * 5)
    >>> table = best_binnings(peak, np.ones(100), 350.0)
    >>> table.loc[table["by"] == "runs", ["binning", "optimal_pct"]].round(1).values.tolist()
    [['2.5; 100', 93.7], ['2.5; 25; 100', 96.9]]
    """
    top = _largest(peak_gib, request_gib)
    time_s = np.maximum(np.nan_to_num(duration_s), 0.0)
    weights: dict[str, Floats | None] = {"runs": None}
    if (time_s > 0).any():
        weights["time"] = time_s
    rows: list[JsonObject] = []
    for bins in BINS:
        for by, weight in weights.items():
            try:
                found = search_binning(
                    peak_gib,
                    bins=bins,
                    stride_gib=_stride(top),
                    top_gib=top,
                    weight=weight,
                    fewest=FEWEST,
                )
            except InputError:
                continue
            optimal, by_time = (
                improvement(found, peak_gib, before_gib=request_gib, weight=held)
                for held in (None, weights.get("time"))
            )
            rows.append(
                {
                    "bins": bins,
                    "by": by,
                    "binning": str(found),
                    "optimal_pct": optimal,
                    "time_based_pct": by_time if "time" in weights else float("nan"),
                }
            )
    return pd.DataFrame(rows, columns=["bins", "by", "binning", "optimal_pct", "time_based_pct"])


def task_binnings(
    peak_gib: Floats, weight: Floats, request_gib: float, *, fewest: int = 3 * FEWEST
) -> list[Binning]:
    """Return the best two, three and four bins of a task, as many as its runs can fill.

    Parameters
    ----------
    weight : array
        Run times: those bins save most of what runs hold for their time.
    fewest : int, default=15
        Runs that each bin holds at least; they are split into training, validation and test.
    """
    top = _largest(peak_gib, request_gib)
    found = []
    for bins in BINS:
        try:
            made = search_binning(
                peak_gib,
                bins=bins,
                stride_gib=_stride(top),
                top_gib=top,
                weight=weight,
                fewest=fewest,
            )
        except InputError:
            break
        found.append(made)
    return found


def _largest(peak_gib: Floats, request_gib: float) -> float:
    """Return where the largest bin ends: at the largest peak, rounded up, within the request."""
    top = round_up(float(peak_gib.max()))
    return request_gib if peak_gib.max() <= request_gib < top else top


def _stride(top: float) -> float:
    """Return a round step that divides the largest bin into enough of them."""
    return round_up(top / _STEPS) if top > 0 else 1.0
