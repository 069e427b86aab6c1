"""What a replay returns: when and where each job ran, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.plain import finite
from prophase.plural import counted
from prophase.short_form import ShortForm
from prophase.sim.job_times import JobTimes
from prophase.sim.measures.tables import attempt_table, job_table
from prophase.trace.prices import Prices

if TYPE_CHECKING:
    from prophase.sim.measures.energy import Power
    from prophase.sim.rules.carbon import CarbonSeries


@dataclass(frozen=True, repr=False)
class Schedule(JobTimes, ShortForm):
    """Start, end and place of every job of a workload on a cluster."""

    @property
    def table(self) -> pd.DataFrame:
        """Return one row per job: times, attempts, and where its first instance ran last."""
        return job_table(self)

    @property
    def attempt_table(self) -> pd.DataFrame:
        """Return one row per attempt and instance: times, outcome, node and GPUs."""
        return attempt_table(self)

    def metrics(
        self,
        by: str | None = None,
        prices: Prices | Mapping[str, Any] | str | Path | None = None,
    ) -> dict[str, Any]:
        """Return the measures people compare schedules by.

        Times are in seconds, per job; waits count the time before the first attempt and
        between attempts. Averages over time run from the first submission to the last end.
        What the trace or the cluster does not state is None.

        Parameters
        ----------
        by : str, optional
            Measure each class of jobs too (``classes``): ``"class"`` for short or long x GPUs,
            ``"gpus"`` for GPUs asked for, or any column of the job table, such as ``"user"``.
        prices : Prices, mapping or path, optional
            What an hour of a GPU type, a core and a GiB costs; adds ``cost``.

        Examples
        --------
        >>> from prophase.sim import Cluster, Workload, simulate
        >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 3600.0})
        >>> jobs["user"], jobs["request_gpus"] = ["ann", "bob"], 1.0
        >>> schedule = simulate(Workload.from_jobs(jobs), Cluster.parse("1x1"))
        >>> found = schedule.metrics(by="user", prices={"gpu_hour": {"default": 2.0}})
        >>> found["mean_wait_s"], found["gpu_utilisation_pct"], found["cost"]["allocated"]
        (1800.0, 100.0, 4.0)
        >>> [(row["user"], row["mean_wait_s"]) for row in found["classes"]]
        [('ann', 0.0), ('bob', 3600.0)]
        """
        # brings statistics with it, which times and tables do without
        from prophase.sim.measures.summary import Summary

        summary = Summary(self, None if prices is None else Prices.take(prices))
        found = summary.total()
        if by is not None:
            found["by"], found["classes"] = by, summary.classes(by)
        return found

    def energy(
        self,
        power: Power | pd.DataFrame | str,
        carbon: CarbonSeries | pd.DataFrame | str | None = None,
    ) -> tuple[dict[str, Any], pd.DataFrame]:
        """Return the energy, and CO2, of the schedule and of each job.

        Parameters
        ----------
        power : Power, DataFrame or path
            ``gpu_type``, ``idle_w`` and ``busy_w`` of a node.
        carbon : CarbonSeries, DataFrame or path, optional
            ``time_s`` and ``g_per_kwh``; without it only energy is known.

        Examples
        --------
        >>> from prophase.sim import Cluster, Workload, simulate
        >>> jobs = pd.DataFrame({"job_id": ["a"], "submit_s": 0.0, "duration_s": 3600.0})
        >>> schedule = simulate(
        ...     Workload.from_jobs(jobs.assign(request_gpus=4.0)), Cluster.parse("1x8")
        ... )
        >>> watts = pd.DataFrame({"gpu_type": ["*"], "idle_w": [1000.0], "busy_w": [5000.0]})
        >>> found, per_job = schedule.energy(watts)
        >>> found["kwh"], found["idle_kwh"], per_job["energy_kwh"].tolist()
        (3.0, 0.5, [2.5])
        """
        from prophase.sim.measures.energy import Power, energy_of
        from prophase.sim.rules.carbon import CarbonSeries

        if carbon is not None and not isinstance(carbon, CarbonSeries):
            carbon = CarbonSeries.of(carbon)
        return energy_of(self, Power.of(power), carbon)

    def summary(self) -> list[str]:
        """Say who ran where, how long jobs waited and how long it took."""
        wait = self.wait_s[np.isfinite(self.wait_s)]
        nodes = f"{counted(len(self.cluster), 'node')}, {counted(self.cluster.gpus, 'GPU')}"
        said = [f"Schedule of {counted(len(self.workload), 'job')} on {nodes}"]
        said.append(f"order {self.order}, place {self.place}, queue {self.queue}")
        if len(wait):
            mean, most = units.duration(float(wait.mean())), units.duration(float(wait.max()))
            said.append(f"mean wait {mean}, longest {most}")
        return [*said, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return policy, cluster and measures as JSON holds them."""
        found: dict[str, Any] = finite(
            {
                "order": self.order,
                "place": self.place,
                "queue": self.queue,
                "nodes": len(self.cluster),
                "gpus": self.cluster.gpus,
                **self.metrics(),
                "notes": list(self.notes),
            }
        )
        return found
