"""Recommended requests as a result: the table of all tasks, and one task explained."""

from __future__ import annotations

import math

from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.result import Fact, Result, Row, Table
from prophase.result.short_names import short_names
from prophase.sizing.exports import engine_of
from prophase.sizing.gpu_grants import how_to_share
from prophase.sizing.kind_recommendation import Recommendation, ResourceRecommendations, as_rows
from prophase.sizing.resources import RESOURCES
from prophase.stats import Estimate
from prophase.stats.month import span_text, why_no_month

#: tasks that a terminal shows, those that save most
_MOST_SHOWN = 60
#: latest runs of a task whose peaks are told
_PEAKS = 250


def recommendation_result(
    found: ResourceRecommendations, *, where: str = "WORKSPACE", source: str = ""
) -> Result:
    """Return what every task should ask for; ``where`` is the trace as a command names it."""
    rows = finite(as_rows(found))
    changed = [one for one in found.tasks if not one.keep]
    return Result(
        "size",
        facts=[
            Fact("saved_per_month", "saved a month", saved_per_month(found), _saved_unit(found)),
            Fact("changed", "tasks with a recommendation", len(changed)),
            Fact("tasks", "tasks", len(found.tasks)),
        ],
        tables=[Table("tasks", _shown_rows(rows[:_MOST_SHOWN]))],
        records=rows,
        notes=_notes(found, where, source),
        values=found.to_dict(),
    )


def explained_result(found: ResourceRecommendations, task: str) -> Result:
    """Return one task: its history, the predicted distribution, the ladder and the back-test."""
    one = found.of(task)
    if one is None:
        names = [held.task for held in found.tasks]
        several = [name for name in names if name.endswith(task)]
        said = f"{len(several)} tasks end in {task!r}." if several else f"task {task!r} is unknown."
        raise ParameterError(not_among(said, task, several or names, most=8))
    values = explained_values(one, found.unit)
    below = ", ".join(f"{share} below {value:.4g}" for share, value in _quantiles(one).items())
    ends = f" (95 % CI {one.oom.low:.2%} to {one.oom.high:.2%})" if one.oom.known else ""
    return Result(
        "size-explain",
        tables=[Table("ladder", values["ladder"])],
        notes=[
            f"{one.task}: {one.runs:,} runs, request today {one.now:.4g} {found.unit}.",
            f"Predicted peak: {below} {found.unit}.",
            f"Back-test on {one.tried:,} runs: {one.oom.value:.2%} killed{ends}, "
            f"{one.saving:.0%} saved."
            if one.tried
            else "No back-test: too few runs.",
            ("" if one.keep else "Recommended: ") + one.why + ".",
        ],
        values=values,
    )


def explained_values(one: Recommendation, unit: str) -> JsonObject:
    """Return what is known of one task, as JSON has it."""
    rungs = [
        {
            "attempt": place + 1,
            "request": rung,
            "killed_share": one.outlook.exceed(rung) if one.outlook is not None else None,
        }
        for place, rung in enumerate(one.ladder)
    ]
    told: JsonObject = finite(
        {
            "task": one.task, "runs": one.runs, "now": one.now, "unit": unit,
            "keep": one.keep, "why": one.why, "oom": one.oom.value,
            "oom_interval": [one.oom.low, one.oom.high], "tried_runs": one.tried,
            "saving": one.saving, "saved_per_month": one.saved_per_month,
            "quantiles": _quantiles(one), "ladder": rungs, "peaks": one.peaks[-_PEAKS:],
        }
    )  # fmt: skip
    return told


def saved_per_month(found: ResourceRecommendations) -> Estimate:
    """Return what all recommendations save in a month, and from which history; or why not."""
    span_s = 3600 * found.span_h
    if why := why_no_month(span_s):
        return Estimate(math.nan, reason=why)
    known = [one.saved_per_month for one in found.tasks if not math.isnan(one.saved_per_month)]
    return Estimate(sum(known), method=f"extrapolated from {span_text(span_s)} of history")


def _saving_text(found: ResourceRecommendations) -> str:
    changed = [one for one in found.tasks if not one.keep]
    if not changed:
        return ""
    if all(math.isnan(one.saving) for one in changed):
        return " and have no request today"
    saved = saved_per_month(found)
    if saved.reason:
        return f" and save an unknown amount a month ({saved.reason})"
    span = span_text(3600 * found.span_h)
    return f" and save {saved.value:,.0f} {_saved_unit(found)} a month (from {span})"


def _saved_unit(found: ResourceRecommendations) -> str:
    return RESOURCES[found.resource].saved_unit


def _shown_rows(rows: list[Row]) -> list[Row]:
    names = short_names([str(row["task"]) for row in rows], 48)
    return [_shown(row, name) for row, name in zip(rows, names, strict=True)]


def _shown(row: Row, name: str) -> Row:
    """Return a row for people: fewer columns, the interval in one."""
    killed, low, high = (row[f"oom_{end}pct"] for end in ("", "low_", "high_"))
    told = "-" if killed is None else f"{killed:.1f}"
    saving = row["saving_pct"]
    return {
        "task": name,
        "runs": row["runs"],
        "now": row["now"],
        "advice": row["advice"],
        "oom_pct": told if low is None else f"{told} ({low:.1f}-{high:.1f})",
        "saving_pct": round(saving) if isinstance(saving, float) else None,
        "saved_per_month": row["saved_per_month"],
        "why": row["why"],
    }


def _notes(found: ResourceRecommendations, where: str, source: str) -> list[str]:
    changed = [one for one in found.tasks if not one.keep]
    kept = len(found.tasks) - len(changed)
    said = [
        f"now and advice (the recommended request) in {found.unit}; saved_per_month in "
        f"{_saved_unit(found)}; oom_pct is the share killed {_where_killed(found)}in the "
        "back-test, with its 95 % interval over days.",
        f"{len(found.tasks) - kept:,} of {len(found.tasks):,} tasks have a recommendation"
        f"{_saving_text(found)}; {kept:,} keep their request.",
    ]
    said.append(found.rule.sentence)
    said += how_to_share(found.resource, [{"advice": one.ladder[0]} for one in changed])
    if len(found.tasks) > _MOST_SHOWN:
        said.append(f"The {_MOST_SHOWN} that save most are shown; --format csv lists all.")
    said += [f"Left out, {reason}: {count:,} jobs." for reason, count in found.left_out.items()]
    said += [found.remark] if found.remark else []
    if found.resource == "time":
        said.append(
            "A shorter time limit frees nothing by itself: backfilling can start a job earlier if "
            "it knows that it ends earlier. What that does to waits:"
        )
        return [*said, f"Next: prophase prove {where} --resource time --cluster 90%"]
    if kept == len(found.tasks):
        return [*said, f"Next: prophase assess {where}"]
    what = "" if found.resource == "memory" else f" --resource {found.resource}"
    # no engine takes a request for GPU memory
    form = "json" if found.resource == "gpu-memory" else engine_of(source)
    return [*said, f"Next: prophase size {where}{what} --export {form}"]


def _where_killed(found: ResourceRecommendations) -> str:
    return "at the time limit " if found.resource == "time" else ""


def _quantiles(one: Recommendation) -> dict[str, float]:
    if one.outlook is None:
        return {}
    return {f"{share:.0%}": one.outlook.quantile(share) for share in (0.1, 0.5, 0.9, 0.99)}
