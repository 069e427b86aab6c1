"""assess: everything that can be said about how well requests are used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.sizing.assess.cores import core_requests
from prophase.sizing.assess.drivers import drivers_in_words, learning_is_there, rank_drivers
from prophase.sizing.assess.monthly_bill import monthly_bill, months_of
from prophase.sizing.assess.task_groups import PREDICT, cluster_statistics, cluster_tasks
from prophase.sizing.assess.utilisation import ALL, task_names, utilisation
from prophase.sizing.bins.binning import best_binnings
from prophase.stats.month import MONTH_S, span_text
from prophase.trace.describe.column_arrays import numbers
from prophase.trace.prices import Prices

#: tasks whose drivers are looked for unless they are named
_MOST_DRIVEN = 3


@dataclass(frozen=True)
class Assessment:
    """Tables of an assessment; each says in its function what its columns are."""

    #: per resource and task (:func:`~prophase.sizing.assess.utilisation`)
    utilisation: pd.DataFrame
    #: per task: groups, requests, columns of memory, cores and money as far as known
    tasks: pd.DataFrame
    #: memory per group of tasks
    clusters: pd.DataFrame
    #: task -> what drives its memory
    drivers: Mapping[str, pd.DataFrame]
    #: per task that is to be predicted: best bins of memory and what they would save
    binnings: pd.DataFrame
    months: float
    currency: str = ""
    #: what a reader has to know
    notes: Sequence[str] = field(default_factory=tuple)

    def to_dict(self) -> JsonObject:
        """Return the assessment as JSON knows it."""
        return {
            "utilisation": _records(self.utilisation),
            "tasks": _records(self.tasks),
            "clusters": _records(self.clusters),
            "drivers": {task: _records(table) for task, table in self.drivers.items()},
            "binnings": _records(self.binnings),
            "months": self.months if math.isfinite(self.months) else None,
            "currency": self.currency,
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """Return the result in words: utilisation, groups, static savings, drivers."""
        whole = self.utilisation[self.utilisation["task"] == ALL]
        used = ", ".join(
            f"{row['resource']} {row['utilisation_pct']:.1f} %" for row in whole.to_dict("records")
        )
        lines = [f"Used of what was asked for: {used}."]
        if len(self.clusters):
            groups = "; ".join(
                f"{row['cluster']}: {counted(int(row['tasks']), 'task')}, median "
                f"{row['median_gib']:.3g}, largest {row['max_gib']:.3g}"
                for row in self.clusters.to_dict("records")
            )
            lines.append(f"Memory in GiB, {groups}.")
        if "saved_per_month" in self.tasks:
            cost, saved = (
                float(self.tasks[name].sum()) for name in ("cost_per_month", "saved_per_month")
            )
            share = f" ({100 * saved / cost:.0f} %)" if cost > 0 else ""
            money = f" {self.currency}" if self.currency else ""
            lines.append(
                f"Requests cost {cost:,.2f}{money} per month, extrapolated from "
                f"{span_text(self.months * MONTH_S)}; "
                f"{'recommended' if 'recommended_gib' in self.tasks else 'static'} requests save "
                f"{saved:,.2f}{money}{share}. Columns cost_per_month and saved_per_month are in "
                f"{self.currency or 'the currency of the prices'}."
                if math.isfinite(self.months)
                else "No cost per month: the history is shorter than 7 days, or has no clock."
            )
        lines += [drivers_in_words(task, table) for task, table in self.drivers.items()]
        return lines + _binnings_in_words(self.binnings)


def assess(
    jobs: pd.DataFrame,
    *,
    prices: Prices | None = None,
    drivers_of: Sequence[str] = (),
    recommended: pd.DataFrame | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> Assessment:
    """Say how well requests are used, task by task, and what to ask for instead.

    Parameters
    ----------
    jobs : DataFrame
        A job table with requests and measured use.
    prices : Prices, optional
        Adds what each task costs per month, and what its recommendation saves.
    drivers_of : sequence of str
        Tasks whose drivers are looked for; by itself the largest that are to be predicted.
    recommended : DataFrame, optional
        What the recommender says of each task, from
        :func:`~prophase.sizing.assess.recommended_requests.recommended_requests`. It is what tasks
        should ask for; without it only the rules per group of tasks are there.
    random_state : int, default=0
        Seed of the forests behind the drivers.
    progress : callable, optional
        Called with what is being done.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "task": ["load"] * 30,
    ...         "request_memory_gib": [20.0] * 30,
    ...         "memory_peak_gib": [1.5] * 30,
    ...     }
    ... )
    >>> assess(jobs).sentences()[0]
    'Used of what was asked for: memory 7.5 %.'
    """
    if jobs.empty:
        raise InputError("the trace has no jobs; there is nothing to assess.")
    progress("computing utilisation")
    used = utilisation(jobs)
    notes = _left_out(used)
    clusters, tasks = pd.DataFrame(), _bare_tasks(used)
    if _has(used, "memory") and jobs.get("memory_peak_gib", pd.Series()).notna().any():
        progress("grouping tasks")
        grouped = cluster_tasks(jobs)
        clusters = cluster_statistics(grouped, jobs)
        tasks = grouped.merge(
            _percent_of(used, "memory"), on="task", how="left", validate="one_to_one"
        )
    if _has(used, "cpu"):
        cores = core_requests(jobs).drop(columns="runs")
        cores = cores.merge(_percent_of(used, "cpu"), on="task", how="left")
        tasks = tasks.merge(cores, on="task", how="left", validate="one_to_one")
        if (used.loc[used["resource"] == "cpu", "use"] == "cpu_mean_cores").any():
            notes.append("CPU: only means are known, so a task that is parallel at times may hide.")
    memory, cores_asked = "advice_gib", "advice_cores"
    if recommended is not None:
        tasks = tasks.merge(recommended, on="task", how="left", validate="one_to_one")
        memory, cores_asked = "recommended_gib", "recommended_cores"
    if prices is not None:
        progress("pricing")
        bill = monthly_bill(
            jobs,
            prices,
            memory_gib=_recommended(tasks, memory),
            cores=_recommended(tasks, cores_asked),
        )
        tasks = tasks.merge(bill, on="task", how="left", validate="one_to_one")
    driven, unsaid = _drivers(jobs, tasks, drivers_of, random_state, progress)
    return Assessment(
        utilisation=used,
        tasks=tasks,
        clusters=clusters,
        drivers=driven,
        binnings=_binnings(jobs, tasks),
        months=months_of(jobs),
        currency=prices.currency if prices else "",
        notes=tuple(notes + unsaid),
    )


def _drivers(
    jobs: pd.DataFrame,
    tasks: pd.DataFrame,
    wanted: Sequence[str],
    random_state: int,
    progress: Callable[[str], None],
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the drivers of the wanted tasks, or of the heavy ones, and why some are missing."""
    if not wanted and "cluster" not in tasks:
        return {}, []
    names = list(wanted)
    if not names:
        heavy = tasks[tasks["advice"] == PREDICT].sort_values("max_gib", ascending=False)
        names = heavy["task"].head(_MOST_DRIVEN).tolist()
    found, notes = {}, []
    for task in names:
        progress(f"looking for what drives {task}")
        try:
            found[task] = rank_drivers(jobs, task, random_state=random_state)
        except InputError as cause:
            if wanted:
                raise
            notes.append(str(cause))
    if found and not learning_is_there():
        notes.append('Importance of drivers is left out; it needs: pip install "prophase[learn]"')
    return found, notes


def _binnings(jobs: pd.DataFrame, tasks: pd.DataFrame) -> pd.DataFrame:
    """Return Table 6 of the thesis for each task that is to be predicted."""
    wanted = tasks[tasks["advice"] == PREDICT] if "advice" in tasks else tasks.iloc[:0]
    names = task_names(jobs).to_numpy()
    peak, time_s = numbers(jobs, "memory_peak_gib"), numbers(jobs, "duration_s")
    parts = [pd.DataFrame(columns=["task", "bins", "by", "binning"])]
    for row in wanted.to_dict("records"):
        mine = (names == row["task"]) & ~np.isnan(peak)
        request = row["request_gib"] if row["request_gib"] > 0 else row["max_gib"]
        table = best_binnings(peak[mine], time_s[mine], float(request))
        if len(table):
            table.insert(0, "task", row["task"])
            parts.append(table)
    return pd.concat(parts[1:], ignore_index=True) if len(parts) > 1 else parts[0]


def _binnings_in_words(table: pd.DataFrame) -> list[str]:
    """Return for the heaviest tasks what three bins, or two, would save."""
    lines = []
    for task, rows in list(table[table["bins"] <= 3].groupby("task", sort=False))[-_MOST_DRIVEN:]:
        best = rows[rows["bins"] == rows["bins"].max()].iloc[-1]
        saved = best["time_based_pct"] if best["by"] == "time" else best["optimal_pct"]
        lines.append(
            f"{task}: knowing the bin of each run ({best['binning']} GiB) would save "
            f"{saved:.0f} % of what it asks for."
        )
    return lines


def _left_out(used: pd.DataFrame) -> list[str]:
    whole = used[(used["task"] == ALL) & (used["without"] > 0)]
    return [
        f"{row['resource']}: left out {counted(int(row['without']), 'row')} without a request or a "
        "measured use."
        for row in whole.to_dict("records")
    ]


def _has(used: pd.DataFrame, resource: str) -> bool:
    return bool((used["resource"] == resource).any())


def _bare_tasks(used: pd.DataFrame) -> pd.DataFrame:
    table = used[used["task"] != ALL].groupby("task", sort=False)["runs"].max()
    return table.reset_index()


def _percent_of(used: pd.DataFrame, resource: str) -> pd.DataFrame:
    rows = used[(used["resource"] == resource) & (used["task"] != ALL)]
    return rows[["task", "utilisation_pct"]].rename(
        columns={"utilisation_pct": f"{resource}_used_pct"}
    )


def _recommended(tasks: pd.DataFrame, column: str) -> dict[str, float]:
    if column not in tasks:
        return {}
    known = tasks[tasks[column].notna()]
    return dict(zip(known["task"], known[column].astype(np.float64), strict=True))


def _records(table: pd.DataFrame) -> list[JsonObject]:
    return [finite(dict(row)) for row in table.to_dict("records")]
