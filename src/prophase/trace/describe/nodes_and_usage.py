"""The node inventory, and the usage series of containers, VMs and jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.describe.column_arrays import NotComputable, codes_of, has_values, numbers
from prophase.trace.describe.distribution import Curve, Distribution, curve_of, distribution_of
from prophase.trace.schema import USAGE

_SHAPE = ("gpu_type", "gpus", "cpu_cores", "memory_gib")


@dataclass(frozen=True)
class NodeType:
    """Nodes of the same shape."""

    gpu_type: str
    nodes: int
    #: per node; missing if unknown
    gpus: float
    cpu_cores: float
    memory_gib: float


@dataclass(frozen=True)
class Inventory:
    """All node types, most frequent first, and the totals."""

    nodes: int
    gpus: float
    cpu_cores: float
    memory_gib: float
    types: tuple[NodeType, ...]


def describe_nodes(nodes: pd.DataFrame) -> Inventory | NotComputable:
    """Group nodes by GPU type, GPUs, cores and memory.

    Examples
    --------
    >>> describe_nodes(pd.DataFrame({"node_id": ["a", "b"], "gpus": [8.0, 8.0]})).types[0].nodes
    2
    """
    if not len(nodes):
        return NotComputable("the node table is empty")
    shape = [column for column in _SHAPE if has_values(nodes, column)]
    totals = {
        column: float(nodes[column].sum()) if column in shape else float("nan")
        for column in _SHAPE[1:]
    }
    if not shape:
        return Inventory(len(nodes), **totals, types=())
    grouped = nodes.groupby(shape, dropna=False).size().sort_values(ascending=False, kind="stable")
    types = []
    for key, number in grouped.items():
        values = dict(zip(shape, key if isinstance(key, tuple) else (key,), strict=True))
        gpu_type = values.get("gpu_type")
        named = "" if gpu_type is None or pd.isna(gpu_type) else str(gpu_type)
        sizes = {column: float(values.get(column, float("nan"))) for column in _SHAPE[1:]}
        types.append(NodeType(named, int(number), **sizes))
    return Inventory(len(nodes), **totals, types=tuple(types))


#: a step this many times the usual one is a gap
_GAP = 1.5


@dataclass(frozen=True)
class Metric:
    """One measured quantity over all samples of all series."""

    name: str
    unit: str
    values: Distribution
    curve: Curve


@dataclass(frozen=True)
class UsageSeries:
    """All usage series of a trace."""

    series: int
    samples: int
    samples_per_series: Distribution
    length_s: Distribution
    step_s: Distribution
    usual_step_s: float
    #: share of steps that differ from the usual one by more than a tenth
    irregular_share: float
    #: steps longer than one and a half usual ones
    gaps: int
    series_with_gaps: int
    longest_gap_s: float
    metrics: tuple[Metric, ...]


def describe_usage(usage: pd.DataFrame) -> UsageSeries | NotComputable:
    """Describe the usage table."""
    if not has_values(usage, "series_id", "time_s"):
        return NotComputable("the usage table has no samples with a series and a time")
    codes, names = codes_of(usage["series_id"])
    time = numbers(usage, "time_s")
    known = (codes >= 0) & ~np.isnan(time)
    order = np.lexsort((time[known], codes[known]))
    code, time = codes[known][order], time[known][order]
    firsts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    lasts = np.r_[firsts[1:], code.size] - 1
    same = code[1:] == code[:-1]
    steps = np.diff(time)[same]
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else float("nan")
    wide = steps > _GAP * usual
    return UsageSeries(
        series=len(names),
        samples=len(usage),
        samples_per_series=distribution_of((lasts - firsts + 1).astype(np.float64)),
        length_s=distribution_of(time[lasts] - time[firsts]),
        step_s=distribution_of(steps),
        usual_step_s=usual,
        irregular_share=(
            float((np.abs(steps - usual) > 0.1 * usual).mean()) if steps.size else float("nan")
        ),
        gaps=int(wide.sum()),
        series_with_gaps=int(np.unique(code[1:][same][wide]).size),
        longest_gap_s=float(steps[wide].max(initial=0.0)),
        metrics=tuple(_metric(usage, str(c)) for c in usage.columns if _is_metric(usage, str(c))),
    )


def _is_metric(usage: pd.DataFrame, column: str) -> bool:
    numeric = pd.api.types.is_numeric_dtype(usage[column])
    return column not in ("series_id", "time_s") and numeric and has_values(usage, column)


def _metric(usage: pd.DataFrame, column: str) -> Metric:
    known = USAGE.get(column)
    values = numbers(usage, column)
    return Metric(column, known.unit if known else "", distribution_of(values), curve_of(values))
