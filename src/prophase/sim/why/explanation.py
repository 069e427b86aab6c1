"""The whole answer: causes with shares, what removing them does, who is held up, what idles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import ParameterError
from prophase.short_form import ShortForm
from prophase.sim.cluster import Cluster
from prophase.sim.measures.backlog_blocks import backlog_blocks, why_too_few
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.simulation import simulate
from prophase.sim.why.cause_shares import class_rows, share_rows
from prophase.sim.why.causes import LABELS, NAMES
from prophase.sim.why.counterfactuals import Effect, effects_of_removal
from prophase.sim.why.head_of_line import culprits, lacking, victims
from prophase.sim.why.idle_gpus import (
    idle_by_hour,
    idle_map,
    idle_nodes,
    idle_rows,
    stranded_rows,
)
from prophase.sim.why.wait_split import QuotaLimits, WaitSplit, split_waits
from prophase.sim.workload import Workload
from prophase.trace.describe.trace_clock import DAY_S, knows_weekdays, utc_offset_s
from prophase.trace.prices import Prices

#: 1 January 1970 was a Thursday
_DAYS_AFTER_MONDAY = 3
_ALL_KINDS = ("setting", "purchase", "ideal")


@dataclass(frozen=True, repr=False)
class Why(ShortForm):
    """Why the jobs of a schedule wait. Every list holds rows of a table."""

    split: WaitSplit
    causes: list[dict[str, Any]]
    effects: list[Effect]
    classes: list[dict[str, Any]]
    held_up: list[dict[str, Any]]
    held_up_by: list[dict[str, Any]]
    held_up_for: list[dict[str, Any]]
    idle: list[dict[str, Any]]
    idle_hours: list[dict[str, Any]]
    stranded: list[dict[str, Any]]
    notes: list[str]
    clock: str

    @cached_property
    def idle_map(self) -> pd.DataFrame:
        """GPUs that nobody holds and that are held but idle, by node and hour of the day."""
        return idle_map(self.split.schedule, self.clock)

    @property
    def jobs(self) -> pd.DataFrame:
        """Return one row per job: its wait, and the seconds of each cause."""
        schedule = self.split.schedule
        table = pd.DataFrame({"job_id": schedule.workload.jobs["job_id"].to_numpy()})
        table["submit_s"] = schedule.workload.submit_s
        table["wait_s"] = self.split.fine_s.sum(axis=1)
        for name, seconds in zip(NAMES, self.split.cause_s.T, strict=True):
            table[f"{name}_s"] = seconds
        table["held_up_others_s"] = self.split.blame_s[:-1].sum(axis=1)
        return table

    @property
    def table(self) -> pd.DataFrame:
        """A row per way to remove a cause: what it saves; then the share of all waiting."""
        return pd.DataFrame(self.removals() or self.side_by_side())

    def summary(self) -> list[str]:
        """Say how long the jobs wait in all, and for what most."""
        total, jobs = float(self.split.fine_s.sum()), len(self.split.schedule.workload)
        whole, each = units.duration(total), units.duration(total / jobs)
        said = [f"{jobs:,} jobs wait {whole} in all, {each} each", *self.best_removal()]
        most = sorted(self.causes, key=lambda row: -row["share_pct"])[:3]
        return said + [
            f"{row['cause']}: {row['share_pct']:.0f} % of the waiting"
            for row in most
            if row["share_pct"] > 0
        ]

    def best_removal(self) -> list[str]:
        """Say which change of a setting, and which of all, saves most; nothing without replays."""
        tried = [effect for effect in self.effects if effect.change_pct is not None]
        helps = [effect for effect in tried if effect.saved_pct > 0]
        if not tried:
            return []
        if not helps:
            return ["nothing that was removed shortens the waiting"]
        said: list[str] = []
        for kinds, words in ((("setting",), "of the settings"), (_ALL_KINDS, "of all")):
            one = max(
                (effect for effect in helps if effect.kind in kinds),
                key=lambda effect: effect.saved_pct,
                default=None,
            )
            if one is not None and (not said or one.change not in said[0]):
                said.append(f"{one.change}: saves {one.saved_pct:.0f} % of it, most {words}")
        return said

    def removals(self) -> list[dict[str, Any]]:
        """Return what each removal saves, for people: best first.

        Where prices are known, by hours of waiting saved per unit of money: what costs nothing
        comes first, what nobody sells after what can be bought. What makes waiting longer is last.
        """
        mean = float(self.split.fine_s.sum()) / len(self.split.schedule.workload)
        tried = [effect for effect in self.effects if effect.change_pct is not None]
        tried.sort(key=lambda effect: self._rank(effect))
        rows = []
        for effect in tried:
            change = effect.change_pct
            if change is None:
                continue
            row: dict[str, Any] = {
                "change": effect.change,
                "removes": LABELS[effect.cause],
                "takes": effect.kind,
                "saves_pct": effect.saved_pct + 0.0,
                "saves_95": _between(0.0 - change.high, 0.0 - change.low) if change.known else None,
                "mean_wait": f"{units.duration(mean)} to "
                f"{units.duration(mean * (1 + change.value / 100))}",
            }
            if self.priced:
                row["cost_per_day"] = effect.cost_per_day
                row["saved_h_per_cost"] = self._saved_per_cost(effect)
            rows.append(row)
        return rows

    @property
    def priced(self) -> bool:
        """Whether a purchase has a price."""
        return any(one.kind == "purchase" and one.cost_per_day is not None for one in self.effects)

    def _rank(self, effect: Effect) -> tuple[bool, int, float]:
        """Order removals: helpful ones first, by saving per cost where that is known."""
        if not self.priced:
            return effect.saved_pct <= 0, 0, -effect.saved_pct
        per_cost = self._saved_per_cost(effect)
        place = 0 if effect.cost_per_day == 0 else 2 if per_cost is None else 1
        return effect.saved_pct <= 0, place, -(effect.saved_pct if place != 1 else per_cost or 0.0)

    def _saved_per_cost(self, effect: Effect) -> float | None:
        """Return hours of waiting saved per unit of money; None if it costs nothing or unknown."""
        if not effect.cost_per_day:
            return None
        days = float(np.ptp(self.split.schedule.workload.submit_s)) / DAY_S
        saved_h = effect.saved_pct / 100 * float(self.split.fine_s.sum()) / 3600
        return saved_h / (effect.cost_per_day * days) if days > 0 else None

    def side_by_side(self) -> list[dict[str, Any]]:
        """Return shares and effects in one table; a second way to remove a cause follows it."""
        rows = []
        for cause in self.causes:
            mine = [effect for effect in self.effects if effect.cause == cause["cause"]]
            for number, effect in enumerate(mine or [None]):
                row = {key: cause[key] for key in ("cause", "wait_h", "share_pct")}
                row["share_95"] = _between(cause["share_low_pct"], cause["share_high_pct"])
                row["at_root_pct"] = cause["at_root_pct"]
                if number:
                    row |= dict.fromkeys(("wait_h", "share_pct", "share_95", "at_root_pct"))
                if effect is not None:
                    told = effect.to_dict()
                    between = _between(told["low_pct"], told["high_pct"])
                    row["without_it"] = effect.change
                    row["change_pct"] = told["change_pct"]
                    row["change_95"] = "not run" if effect.skipped else between
                rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        schedule = self.split.schedule
        return {
            "order": schedule.order,
            "place": schedule.place,
            "queue": schedule.queue,
            "nodes": len(schedule.cluster),
            "gpus": schedule.cluster.gpus,
            "jobs": len(schedule.workload),
            "total_wait_h": float(self.split.fine_s.sum()) / 3600,
            "removals": self.removals(),
            "causes": self.causes,
            "without": [effect.to_dict() for effect in self.effects],
            "classes": self.classes,
            "held_up": self.held_up,
            "held_up_by": self.held_up_by,
            "held_up_for": self.held_up_for,
            "idle": self.idle,
            "idle_hours": self.idle_hours,
            "stranded": self.stranded,
            "idle_nodes": idle_nodes(self.idle_map),
            "notes": self.notes,
        }


def why(
    workload: Workload,
    cluster: Cluster,
    *,
    by: str = "class",
    blame_by: str | None = None,
    short_below_s: float = 3600.0,
    clock: str = "relative",
    remove: bool = True,
    limits: QuotaLimits | None = None,
    prices: Prices | None = None,
    progress: Callable[[str, float | None], None] | None = None,
    **settings: Any,
) -> Why:
    """Replay a workload and say why its jobs wait.

    Parameters
    ----------
    by : str, default="class"
        Split the causes by class too: ``"class"``, ``"gpus"``, or a column of the job table.
    blame_by : str, optional
        Sum up who holds others up by this column; the user, or GPUs if users are not known.
    short_below_s : float, default=3600
        Jobs that run for less are short.
    clock : str
        The trace's clock, for hours of the week.
    remove : bool, default=True
        Replay once more for each cause, without it.
    limits : Limits, optional
        Quotas that held in the replay; taken from the setting ``quotas`` if there is one.
    prices : Prices, optional
        What an hour costs: removals are then ordered by what they save per unit of money.
    settings
        As for :func:`prophase.sim.simulate`.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b", "c"], "submit_s": [0.0, 1.0, 2.0]})
    >>> jobs["duration_s"], jobs["request_gpus"] = 10.0, [1.0, 2.0, 1.0]
    >>> answer = why(Workload.from_jobs(jobs), Cluster.parse("1x2"), queue="strict")
    >>> [(row["cause"], row["share_pct"]) for row in answer.causes if row["share_pct"]]
    [('capacity', 70.37), ('order', 29.63)]
    >>> [(row["change"], round(row["saves_pct"])) for row in answer.removals()][:2]
    [('every node twice', 100), ('whoever fits may start', 59)]
    """
    if not short_below_s > 0:
        raise ParameterError(f"short_below_s is {short_below_s}; pass a positive time.")
    if progress:
        progress("replaying", None)
    schedule = simulate(workload, cluster, **settings)
    if progress:
        progress("splitting the waits", None)
    shift = _DAYS_AFTER_MONDAY * DAY_S + utc_offset_s(clock) if knows_weekdays(clock) else 0.0
    if limits is None and settings.get("quotas") is not None:
        limits = QuotaLimits.of(settings["quotas"], schedule.workload)
    split = split_waits(schedule, limits=limits, short_below_s=short_below_s, week_shift_s=shift)
    jobs = schedule.workload.jobs
    known = "user" in jobs and jobs["user"].notna().any()
    blame = groups_of(schedule.workload, blame_by or ("user" if known else "gpus"))
    waits = float(split.fine_s.sum()) > 0
    effects = (
        effects_of_removal(schedule, cluster, settings, progress, prices)
        if remove and waits
        else []
    )
    return Why(
        split,
        share_rows(split),
        effects,
        class_rows(groups_of(schedule.workload, by), split.cause_s),
        victims(split),
        culprits(split, blame),
        lacking(split),
        idle_rows(split),
        idle_by_hour(split, clock),
        stranded_rows(split),
        _notes(split, effects, waits),
        clock,
    )


def _notes(split: WaitSplit, effects: list[Effect], waits: bool) -> list[str]:
    schedule = split.schedule
    notes = list(schedule.notes)
    if not waits:
        notes.append("Nobody waits on this cluster: there is nothing to explain.")
    if split.never_started:
        notes.append(f"{split.never_started:,} jobs never start and are left out.")
    if not split.limited:
        notes.append("Quotas: none are modelled, so none keep anybody waiting.")
    if waits and (reason := why_too_few(backlog_blocks(schedule))):
        notes.append(f"No intervals: {reason}, long enough to hold the backlog.")
    notes += [f"Not run: {one.change} ({one.skipped})." for one in effects if one.skipped]
    if not {"cpu_cores", "memory_gib"} & set(schedule.cluster.nodes):
        notes.append("The nodes state neither CPU nor memory: these cannot be short.")
    return notes


def _between(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.1f} to {high:.1f}"
