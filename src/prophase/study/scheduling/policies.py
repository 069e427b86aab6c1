"""The policies of a schedule study, each judged beside fifo and the oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI, Floats
from prophase.sim.sweep.resampled_traces import AS_RECORDED
from prophase.sim.workload import Workload
from prophase.stats import Estimate, from_draws

FIFO, ORACLE = "fifo", "shortest, true run times"
NO_SHARING = "fifo, whole GPUs only"
BALANCED, RESERVED = "fifo, load balancing", "fifo, reserving and packing"


@dataclass(frozen=True)
class SchedulePolicy:
    """One row of the table.

    Attributes
    ----------
    kind : str
        ``order``, ``sharing`` or ``placing``: what differs from plain fifo.
    settings : mapping
        Arguments of ``sim.simulate``.
    """

    name: str
    kind: str
    settings: JsonMapping


def policies_of(
    columns: Mapping[str, str], workload: Workload, cluster: Cluster, base: JsonMapping
) -> Iterator[SchedulePolicy]:
    """Yield what is compared: fifo first, then the oracle, the predictors, sharing and placing.

    The first predictor is tried in one more way: by response ratios, under which nobody is
    overtaken for ever.

    Parameters
    ----------
    columns : mapping
        Predictor -> column with its predictions.
    base : mapping
        Settings of all replays, such as the queue.
    """
    yield SchedulePolicy(FIFO, "order", {**base, "order": "fifo"})
    yield SchedulePolicy(ORACLE, "order", {**base, "order": "shortest"})
    for method, column in columns.items():
        yield SchedulePolicy(predicted(method), "order", {**base, "order": f"column:{column}"})
    best = next(iter(columns), None)
    if best is not None:
        yield SchedulePolicy(
            ratio(best), "order",
            {**base, "order": "response_ratio", "order_options": {"column": columns[best]}},
        )  # fmt: skip
    if not cluster.gpus or not (workload.asks[:, ASK_GPUS] > 0).any():
        return
    fractions = (workload.asks[:, ASK_GPUS] > 0) & (workload.asks[:, ASK_MILLI] < 1000)
    if fractions.any():
        yield SchedulePolicy(NO_SHARING, "sharing", {**base, "order": "fifo", "share": "per_gpu=1"})
    yield SchedulePolicy(BALANCED, "placing", {**base, "order": "fifo", "place": "worst_fit"})
    yield SchedulePolicy(
        RESERVED, "placing", {**base, "order": "fifo", "place": "reserve_and_pack"}
    )
    if best is not None:
        yield SchedulePolicy(
            f"{predicted(best)}, reserving and packing",
            "placing",
            {**base, "order": f"column:{columns[best]}", "place": "reserve_and_pack"},
        )


def predicted(method: str) -> str:
    """Return what the order by a method's predictions is called."""
    return f"shortest, predicted by {method}"


def ratio(method: str) -> str:
    """Return what the order by response ratios is called."""
    return f"response ratio, predicted by {method}"


MEASURES = ("mean_jct_s", "mean_wait_s", "p90_wait_s", "p99_wait_s")
#: fifo must lose this share of a measure before a share of the loss means something
LEAST_GAIN = 0.01
#: spread of log odds up to which they describe changes better than differences do
_STEADY = 1.5

#: (seed, policy) -> class of jobs -> measure -> value; seed 0 is the trace as recorded
Cells = Mapping[tuple[int, int], Mapping[str, Mapping[str, float]]]
_UNKNOWN = Estimate(math.nan)


@dataclass(frozen=True)
class PolicyResult:
    """One policy beside fifo, for all jobs or for one class of them.

    ``mean_jct_s`` and the others are of the trace as recorded; intervals come from resampled
    traces, where every policy meets the same jobs.
    """

    policy: str
    kind: str
    of: str
    jobs: int
    mean_jct_s: float
    mean_wait_s: float
    p90_wait_s: float
    p99_wait_s: float
    #: change of the mean completion time against fifo, in percent
    change_pct: Estimate = _UNKNOWN
    #: share of the oracle's gain over fifo that the policy keeps, in percent
    kept_pct: Estimate = _UNKNOWN
    #: the same for the wait that one job in a hundred exceeds
    p99_change_pct: Estimate = _UNKNOWN
    p99_kept_pct: Estimate = _UNKNOWN

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them, the ends of ``x`` as ``x_low`` and ``x_high``."""
        found: JsonObject = {}
        for name, value in self.__dict__.items():
            found |= value.columns(name) if isinstance(value, Estimate) else {name: finite(value)}
        return found


def judge(
    policies: Sequence[SchedulePolicy],
    number: int,
    of: str,
    jobs: int,
    cells: Cells,
    seeds: int,
    blocks: int,
) -> PolicyResult:
    """Return one policy's row for one class of jobs; the first policy is fifo."""
    policy = policies[number]
    oracle = next(n for n, one in enumerate(policies) if one.name == ORACLE)
    compared: dict[str, Estimate] = {}
    for measure, prefix in (("mean_jct_s", ""), ("p99_wait_s", "p99_")):
        fifo, mine, best = (_value(cells, AS_RECORDED, n, of, measure) for n in (0, number, oracle))
        drawn = np.array(
            [
                [_value(cells, seed, n, of, measure) for n in (0, number, oracle)]
                for seed in range(1, seeds + 1)
            ]
        ).reshape(-1, 3)
        drawn = drawn[np.isfinite(drawn).all(axis=1) & (drawn[:, 0] > 0)]
        if policy.name != FIFO and fifo > 0:
            change = 100 * (mine - fifo) / fifo
            falls = 100 * (drawn[:, 1] / drawn[:, 0] - 1)
            compared[f"{prefix}change_pct"] = percent_change(change, falls, blocks)
        gains, whole = drawn[:, 0] - drawn[:, 1], drawn[:, 0] - drawn[:, 2]
        if policy.kind == "order" and _is_clear(fifo - best, whole, LEAST_GAIN * fifo):
            kept = (fifo - mine) / (fifo - best)
            # a ratio of sums: single traces with hardly a gain would blow up a mean of ratios
            lacking = gains - kept * whole
            scale = 100 / whole.mean() if len(whole) and whole.mean() > 0 else math.nan
            compared[f"{prefix}kept_pct"] = _around(100 * kept, lacking * scale, blocks)
    here = cells[AS_RECORDED, number][of]
    return PolicyResult(
        policy.name,
        policy.kind,
        of,
        jobs,
        here["mean_jct_s"],
        here["mean_wait_s"],
        here["p90_wait_s"],
        here["p99_wait_s"],
        change_pct=compared.get("change_pct", _UNKNOWN),
        kept_pct=compared.get("kept_pct", _UNKNOWN),
        p99_change_pct=compared.get("p99_change_pct", _UNKNOWN),
        p99_kept_pct=compared.get("p99_kept_pct", _UNKNOWN),
    )


def percent_change(value: float, drawn: Floats, blocks: int) -> Estimate:
    """Return a change in percent with its interval, as wide as it spreads over resampled traces.

    Where every trace falls, the interval is one of log odds: busy traces fall much and quiet
    ones little, but none rises, and none falls by more than all of it.

    Examples
    --------
    >>> drawn = np.array([-20.0, -50.0, -80.0, -40.0, -60.0, -30.0])
    >>> change = percent_change(-50.0, np.tile(drawn, 2), blocks=30)
    >>> -100 < change.low < -50.0 < change.high < 0
    True
    """
    if len(drawn) > 1 and (drawn < 0).all() and (drawn > -100).all() and -100 < value < 0:
        odds = np.log(-drawn / (100 + drawn))
        if np.std(odds, ddof=1) < _STEADY:
            here = _around(math.log(-value / (100 + value)), odds, blocks)
            return replace(here.mapped(lambda odd: -100 / (1 + math.exp(-odd))), value=value)
    return _around(value, drawn, blocks).within(-100.0)


def _value(cells: Cells, seed: int, policy: int, of: str, measure: str) -> float:
    return cells[seed, policy].get(of, {}).get(measure, math.nan)


def _is_clear(gain: float, drawn: Floats, least: float) -> bool:
    """Return whether there is a gain to keep a share of, here and on every resampled trace."""
    return gain > least and bool((drawn > 0).all())


def _around(value: float, drawn: Floats, blocks: int) -> Estimate:
    """Return the value of the trace as recorded, with the spread over resampled traces."""
    found = from_draws(drawn, blocks)
    half = found.half_width
    return replace(found, value=value, low=value - half, high=value + half)
