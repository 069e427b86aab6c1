"""Which kinds of jobs should share a GPU, from measured speeds of pairs or from how busy jobs are.

Two jobs share a GPU well where they do more work together than one after the other. Kinds that go
well with each other and with themselves are *light*; kinds that go well with every light one, but
not with each other, are *heavy*. A heavy job gets 600 thousandths of a GPU and a light one 400, so
that a light one fits beside either, two heavy ones never meet, and nobody is third.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.plural import counted, listed
from prophase.result import Row
from prophase.sim.rules.parsing import as_rule, at_least
from prophase.sim.rules.speed_and_sharing import Sharing, as_sharing, kinds_of
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI, Floats, Ints
from prophase.sim.workload import Workload

_HEAVY_MILLI, _LIGHT_MILLI = 600, 400
_KIND_COLUMNS = ("kind", "task", "workload", "name")
#: jobs that tell how busy a kind is
_LEAST_JOBS = 3


@dataclass(frozen=True)
class PairRules:
    """When two kinds go well together.

    Attributes
    ----------
    gain : float
        Work of both together, one job alone being 1: pairs below this stay apart.
    kind_column : str
        Column that names kinds; kind, task, workload or name if it is empty.
    overhead : float
        Without measured pairs: how much longer a job takes beside any other.
    gpu_memory_gib : float
        Without measured pairs: memory of a GPU, which the peaks of both must fit in; 0: not known.
    """

    gain: float = 1.2
    kind_column: str = ""
    overhead: float = 0.05
    gpu_memory_gib: float = 0.0

    def __post_init__(self) -> None:
        at_least("pair gain", self.gain, 1)
        at_least("pair overhead", self.overhead, 0)
        at_least("pair gpu_memory_gib", self.gpu_memory_gib, 0)


@dataclass(frozen=True)
class Pairing:
    """Kinds that share GPUs, the jobs with what they then ask for, and what that costs each."""

    workload: Workload
    sharing: Sharing
    heavy: tuple[str, ...]
    light: tuple[str, ...]
    #: one row per pair of kinds, best first
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]


def pair_jobs(workload: Workload, how: str) -> Pairing:
    """Choose the kinds that share GPUs.

    Parameters
    ----------
    how : str
        ``usage``: from ``gpu_util_mean_pct`` of past jobs. ``measured=PATH`` (as Gavel publishes
        it) or ``table=FILE`` (kind, neighbour, speed): from speeds of pairs. Settings of
        ``PairRules`` follow, such as ``usage,gain=1.3,kind_column=task``.
    """
    source, _, rest = how.partition(",")
    rules = as_rule(PairRules, rest, "pair") or PairRules()
    rules = replace(rules, kind_column=rules.kind_column or _kind_column(workload))
    kind, kinds = kinds_of(workload, rules.kind_column)
    single = (workload.asks[:, ASK_GPUS] == 1) & (workload.asks[:, ASK_MILLI] > 0)
    if not single.any():
        raise InputError("pair: no job asks for one GPU or a share of one, so none can share it.")
    remarks: list[str] = []
    if source == "usage":
        speed, remarks = _from_usage(workload, kind, kinds, rules)
    elif source.startswith(("measured=", "table=")):
        speed = _measured(source, kinds)
    else:
        raise ParameterError(f"pair {source!r}: is usage, measured=PATH or table=FILE.")
    hours = np.bincount(kind[single], workload.duration_s[single], len(kinds)).astype(float)
    heavy, light = _chosen(speed, hours, rules.gain)
    asks = workload.asks.copy()
    for chosen, milli in ((heavy, _HEAVY_MILLI), (light, _LIGHT_MILLI)):
        rows = single & np.isin(kind, chosen)
        asks[rows, ASK_MILLI] = np.minimum(asks[rows, ASK_MILLI], milli)
    found = _rows(speed, kinds, hours)
    table = pd.DataFrame(
        [
            {"kind": kinds[one], "neighbour": kinds[other], "speed": speed[one, other]}
            for one, other in np.argwhere(np.isfinite(speed))
        ],
        columns=["kind", "neighbour", "speed"],
    )
    names = tuple(kinds[one] for one in heavy), tuple(kinds[one] for one in light)
    said = _words(names, float(hours[[*heavy, *light]].sum() / max(hours.sum(), 1e-9)), rules)
    return Pairing(
        replace(workload, asks=asks),
        Sharing(table=table, kind_column=rules.kind_column),
        *names,
        tuple(found),
        (said, *remarks),
    )


def _kind_column(workload: Workload) -> str:
    for name in _KIND_COLUMNS:
        if name in workload.jobs and workload.jobs[name].notna().any():
            return name
    raise InputError(
        f"pair: the job table has none of {', '.join(_KIND_COLUMNS)} that says which jobs are "
        "alike. Name a column: kind_column=NAME."
    )


def _measured(source: str, kinds: list[str]) -> Floats:
    """Return the speed of each kind beside each other; not a number where it was not measured."""
    sharing = as_sharing(source)
    if sharing is None or sharing.table is None:
        raise ParameterError(f"pair {source!r}: is usage, measured=PATH or table=FILE.")
    place = {name: row for row, name in enumerate(kinds)}
    speed = np.full((len(kinds), len(kinds)), np.nan)
    for row in sharing.table.to_dict("records"):
        one, other = place.get(str(row["kind"])), place.get(str(row["neighbour"]))
        if one is not None and other is not None:
            speed[one, other] = float(row["speed"])
    if np.isnan(speed).all():
        raise InputError(
            f"pair: none of the kinds of this trace ({listed(kinds[:3])} ...) was measured; it "
            f"names {listed(sorted(set(map(str, sharing.table['kind'])))[:3])} ... Name the column "
            "with such names: kind_column=NAME."
        )
    return speed


def _from_usage(
    workload: Workload, kind: Ints, kinds: list[str], rules: PairRules
) -> tuple[Floats, list[str]]:
    """Return the speeds to be expected: a GPU that both would keep busy is divided between them."""
    table = workload.jobs
    if "gpu_util_mean_pct" not in table or not table["gpu_util_mean_pct"].notna().any():
        raise InputError(
            "pair usage: the trace does not tell how busy GPUs are (gpu_util_mean_pct). Give "
            "measured pairs: measured=PATH or table=FILE."
        )
    busy = table["gpu_util_mean_pct"].to_numpy(np.float64) / 100.0
    known = np.isfinite(busy)
    jobs = np.bincount(kind[known], minlength=len(kinds))
    weight = workload.duration_s[known] + 1.0
    mean = np.bincount(kind[known], np.clip(busy[known], 0, 1) * weight, len(kinds))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(
            jobs >= _LEAST_JOBS, mean / np.bincount(kind[known], weight, len(kinds)), np.nan
        )
    both = mean[:, None] + mean[None, :]
    speed = 1.0 / np.maximum(both, 1.0) / (1.0 + rules.overhead)
    remarks = [
        "Speeds of pairs are expected from how busy GPUs were on average, not measured; measure "
        "a pair before you rely on it."
    ]
    peak = np.zeros(len(kinds))
    if "gpu_memory_peak_gib" in table:
        np.maximum.at(peak, kind, np.nan_to_num(table["gpu_memory_peak_gib"].to_numpy(np.float64)))
    if rules.gpu_memory_gib and peak.any():
        speed = np.where(peak[:, None] + peak[None, :] <= rules.gpu_memory_gib, speed, np.nan)
    else:
        remarks.append(
            "Whether the memory of a GPU holds both is not checked"
            + (": say gpu_memory_gib=16." if peak.any() else ": the trace does not tell it.")
        )
    return speed, remarks


def _chosen(speed: Floats, hours: Floats, gain: float) -> tuple[list[int], list[int]]:
    """Return heavy and light kinds; those with the most hours are taken first."""
    together = speed + speed.T
    good = np.nan_to_num(together, nan=0.0) >= gain
    order = [int(one) for one in np.argsort(-hours, kind="stable") if hours[one] > 0]
    best: tuple[list[int], list[int]] = ([], [])
    most = 0.0
    # each kind that goes with itself may begin the set: a large one may keep many others out
    for first in (one for one in order if good[one, one]):
        light = [first]
        for one in order:
            if one not in light and good[one, one] and good[one, light].all():
                light.append(one)
        heavy = [one for one in order if one not in light and good[one, light].all()]
        shared = float(hours[[*light, *heavy]].sum())
        if shared > most:
            best, most = (heavy, light), shared
    return best


def _rows(speed: Floats, kinds: list[str], hours: Floats) -> list[Row]:
    """Return pairs of kinds that have jobs, those that do most work together first."""
    used = [int(one) for one in np.flatnonzero(hours > 0)]
    rows: list[Row] = [
        {
            "kind": kinds[one],
            "neighbour": kinds[other],
            "speed": float(speed[one, other]),
            "neighbour_speed": float(speed[other, one]),
            "work_together": float(speed[one, other] + speed[other, one]),
        }
        for one, other in combinations_with_replacement(used, 2)
        if np.isfinite(speed[one, other] + speed[other, one])
    ]
    return sorted(rows, key=_by_work)


def _by_work(row: Mapping[str, object]) -> tuple[float, str, str]:
    return -float(str(row["work_together"])), str(row["kind"]), str(row["neighbour"])


def _words(names: tuple[tuple[str, ...], tuple[str, ...]], share: float, rules: PairRules) -> str:
    heavy, light = names
    if not light:
        return f"No kind goes well with itself or another (work together below {rules.gain:g})."
    few = listed(list(light[:5])) + (f" and {len(light) - 5} more" if len(light) > 5 else "")
    said = f"Pair {counted(len(light), 'kind')} with each other: {few}"
    if heavy:
        some = listed(list(heavy[:5])) + (f" and {len(heavy) - 5} more" if len(heavy) > 5 else "")
        said += f"; put beside one of them: {some}"
    return (
        f"{said}. They take {100 * share:.3g} % of the time of jobs of one GPU. Paired jobs run "
        "longer: compare completion times as well (--measure mean_jct_s)."
    )
