"""Energy and CO2 of a schedule: of each job, and of nodes that nobody used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.cluster import PLENTY, UNNAMED, Cluster
from prophase.sim.job_times import JobTimes
from prophase.sim.rules.carbon import CarbonSeries
from prophase.sim.rules.parsing import as_table, at_least, number_column
from prophase.sim.signatures import CPU, GPU_TYPE, GPUS, Floats

_JOULE_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Power:
    """Watts of a node when nothing runs on it, and when all of it is in use.

    In between power grows with the GPUs in use (of a node without GPUs: the cores).

    Attributes
    ----------
    table : DataFrame
        ``gpu_type`` (``*``: all others, and nodes without GPUs), ``idle_w`` and ``busy_w``.
    pue : float
        Electricity of the building per electricity of the nodes.
    """

    table: pd.DataFrame
    pue: float = 1.0

    def __post_init__(self) -> None:
        at_least("power pue", self.pue, 1)
        missing = {"gpu_type", "idle_w", "busy_w"} - set(self.table.columns)
        if missing:
            raise InputError(f"the table of power lacks {', '.join(sorted(missing))}.")
        idle, busy = (
            number_column(self.table, name, "power", least=0) for name in ("idle_w", "busy_w")
        )
        if (busy < idle).any():
            raise InputError(
                f"power: a busy node of type {self.table.loc[busy < idle, 'gpu_type'].iloc[0]} "
                "takes less than an idle one. Exchange idle_w and busy_w."
            )

    @classmethod
    def of(cls, given: Power | pd.DataFrame | str) -> Power:
        """Take a table, its path, or ``'table=PATH,pue=1.3'``."""
        if isinstance(given, Power):
            return given
        pue = 1.0
        if isinstance(given, str) and given.startswith("table="):
            path, _, rest = given.removeprefix("table=").partition(",")
            if rest and not rest.startswith("pue="):
                raise InputError(f"power: {rest!r} is not understood. Write table=PATH,pue=1.3.")
            given, pue = path, float(rest.removeprefix("pue=") or 1.0)
        table = as_table(given, "power")
        if table is None:
            raise InputError("power: name a table of gpu_type, idle_w, busy_w.")
        return cls(table, pue)

    def watts(self, cluster: Cluster) -> tuple[Floats, Floats]:
        """Return idle and busy watts of each node, or say which type has none."""
        rows = {
            str(kind): (float(idle), float(busy))
            for kind, idle, busy in self.table[["gpu_type", "idle_w", "busy_w"]].to_numpy()
        }
        names = [cluster.gpu_types[kind] or UNNAMED for kind in cluster.matrix[:, GPU_TYPE]]
        has_gpus = cluster.matrix[:, GPUS] > 0
        keys = [name if gpus else "*" for name, gpus in zip(names, has_gpus, strict=True)]
        lacking = sorted({key for key in keys if key not in rows and "*" not in rows})
        if lacking:
            raise InputError(
                f"power: the table has no row of {lacking[0]!r}, nor of '*' for all others. It "
                f"has: {', '.join(rows)}."
            )
        found = np.array([rows.get(key, rows.get("*", (0.0, 0.0))) for key in keys])
        return found[:, 0] * self.pue, found[:, 1] * self.pue


def energy_of(
    schedule: JobTimes, power: Power, carbon: CarbonSeries | None = None
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the energy of a schedule from the first submission to the last end, and of each job.

    A job is charged its share of the nodes it holds, at the watts of a busy node; what is left is
    the idle power of what nobody held. Nodes that are away take nothing.

    Returns
    -------
    dict, DataFrame
        kWh and kg of CO2 (if ``carbon`` is given) of all, of jobs and of idling; and per job
        ``energy_kwh`` and ``co2_kg``.
    """
    idle_w, busy_w = power.watts(schedule.cluster)
    held, jobs, matrix = schedule.occupancy, len(schedule.workload), schedule.cluster.matrix
    if ((matrix[:, GPUS] == 0) & (matrix[:, CPU] >= PLENTY)).any():
        raise InputError(
            "power: a node states neither GPUs nor cores, so how busy it is is not known. State "
            "its cores, such as --cluster '10x0 64c'."
        )
    gpus = np.maximum(matrix[held.node, GPUS], 1)
    share = np.where(
        matrix[held.node, GPUS] > 0,
        held.instance_gpus / gpus,
        held.instance_cpu / np.maximum(matrix[held.node, CPU], 1),
    )
    start, end = held.start_s[held.attempt], held.end_s[held.attempt]
    begin, finish = float(schedule.edges[0]), float(held.end_s.max(initial=schedule.edges[0]))
    job_of = held.job[held.attempt]
    whole = _Meter(np.array([begin]), np.array([finish]), carbon)
    during = _Meter(start, end, carbon)
    away = schedule.absences
    found: dict[str, Any] = {}
    per_job: dict[str, Floats] = {}
    for name, unit in (("kwh", "energy_kwh"), ("co2_kg", "co2_kg")):
        amount, total = getattr(during, name), getattr(whole, name)
        if amount is None or total is None:
            continue
        of_jobs = np.zeros(jobs)
        np.add.at(of_jobs, job_of, share * busy_w[held.node] * amount)
        idle = float(idle_w.sum() * total[0] - (share * idle_w[held.node] * amount).sum())
        if away is not None:
            missed = _Meter(np.maximum(away.from_s, begin), np.minimum(away.to_s, finish), carbon)
            idle -= float((idle_w[away.node] * getattr(missed, name)).sum())
        found |= {
            name: float(of_jobs.sum()) + idle,
            f"jobs_{name}": float(of_jobs.sum()),
            f"idle_{name}": idle,
            f"mean_job_{name}": float(of_jobs.mean()),
        }
        per_job[unit] = of_jobs
    return found, pd.DataFrame(per_job)


class _Meter:
    """What one watt takes and emits in each interval; an interval that ends before it begins: 0."""

    def __init__(self, start_s: Floats, end_s: Floats, carbon: CarbonSeries | None) -> None:
        end_s = np.maximum(start_s, end_s)
        self.kwh: Floats = (end_s - start_s) / _JOULE_PER_KWH
        self.co2_kg: Floats | None = None
        if carbon is not None:
            self.co2_kg = carbon.integral(start_s, end_s) / _JOULE_PER_KWH / 1000.0
