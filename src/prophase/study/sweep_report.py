"""A sweep as a report: which combination is best, and which ones nothing beats."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from prophase import units
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Chart, DataUsed, Fact, NextStep, Provenance, Result, Section, Table
from prophase.sim.measures.offered_load import times_asked
from prophase.sim.request_variants import ASKED
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.resampled_traces import AS_RECORDED, interval_remark
from prophase.sim.sweep.results import SavedSweep, SweepResult

#: combinations that a figure has room for
_SHOWN = 16


def usual_measures(plan: SweepPlan) -> list[str]:
    """Return what is of interest by what is varied: waits against what they cost.

    Examples
    --------
    >>> usual_measures(SweepPlan(["4x8"], sizings=("asked", "default")))
    ['mean_wait_s', 'gib_hours.allocated']
    """
    sized = list(plan.sizings) != [ASKED] and len(plan.sizings) > 1
    costs = ["gpus"] if len(plan.clusters) > 1 or not sized else []
    return ["mean_wait_s", *costs, *(["gib_hours.allocated"] if sized else [])]


def sweep_result(kept: SavedSweep, ranked: pd.DataFrame) -> Result:
    """Return the report of a sweep, ranked by the first measure at each load.

    Parameters
    ----------
    ranked : DataFrame
        From ``SweepResult.ranked``.
    """
    result, plan, measures = kept.result, kept.plan, kept.measures
    varied = [name for name in result.axes if ranked[name].nunique() > 1]
    rows: list[JsonObject] = json.loads(ranked.to_json(orient="records"))
    for row in rows:
        row["combination"] = ", ".join(str(row[name]) for name in varied) or "the only one"
    best, first = rows[0], measures[0]
    unclear = sum(row["load"] == best["load"] and row["rank"] > 1 and not row["clear"]
                  for row in rows)  # fmt: skip
    front = [row["combination"] for row in rows if row["front"]]
    answer = f"Best by {first}: {best['combination']}, {units.number(best[first])}" + (
        f" ({units.number(best[f'{first}_low'])} to {units.number(best[f'{first}_high'])})"
        if best[f"{first}_low"] is not None else ""
    ) + (f" at load x {best['load']:g}." if len(plan.loads) > 1 else ".")  # fmt: skip
    if unclear:
        answer += f" {unclear} of the others are not clearly worse."
    shown = [name for name in ("rank", *varied) if name != "combination"]
    for name in measures:
        shown += [name, f"{name}_low", f"{name}_high"]
    shown += ["behind_best", "behind_best_low", "behind_best_high", "clear", "front"]
    table = [{name: row[name] for name in shown} for row in rows]
    said = [overload_remark(result), _interval_remark(kept, rows)]
    return Result(
        "sweep",
        title="Which combination is best?",
        question=(
            f"Of {plan.combinations:,} combinations of {', '.join(varied) or 'settings'}, which is "
            f"best by {first}, and which does no other beat in all of {', '.join(measures)}?"
        ),
        answer=answer,
        facts=[
            Fact("combinations", "combinations", plan.combinations),
            Fact("front", "that no other beats", len(front)),
            Fact("replays", "replays", len(result.cells)),
        ],
        data=[DataUsed(kept.trace or "trace", None, result.data_hash, dropped=result.left_out)],
        method=[
            "Every combination was replayed on the trace as recorded, which ranks "
            f"them{_drawn(kept)}. behind_best is paired, against the best at that load.",
            "front: no other combination at that load is at least as good in all measures and "
            "better in one.",
        ],
        sections=[
            Section.told(
                "ranked", "Ranked", [answer, *_front(front)],
                [Table("ranked", table, "Best first at each load")],
                _charts(rows, measures, plan),
            )
        ],
        valid_for=["the order of the combinations on these jobs"],
        not_valid_for=["waits to the second: people would submit differently on another cluster"],
        limits=[*(one for one in said if one), *kept.remarks],
        next_steps=[NextStep("Draw and rank all results again, without the trace:",
                    "prophase report FOLDER --redraw")],
        provenance=Provenance(kept.command, {"resampled traces, 1 to": plan.seeds}, plan.to_dict())
        if kept.command else None,
    )  # fmt: skip


def sweep_answer(
    kept: SavedSweep,
    ranked: pd.DataFrame,
    *,
    counts: str = "",
    where: str = "",
    narrow: bool = False,
) -> Result:
    """Return the ranked combinations as the command and the service answer.

    Parameters
    ----------
    counts, where : str
        What was replayed and what is kept from before, and where everything lies.
    narrow : bool
        Leave out the columns that a terminal has no room for.
    """
    result, measures = kept.result, list(kept.measures)
    varied = [name for name in result.axes if ranked[name].nunique() > 1]
    fixed = {name: ranked[name].iloc[0] for name in result.axes if name not in varied}
    rows: list[JsonObject] = json.loads(ranked.to_json(orient="records"))
    same = ", ".join(f"{name} {value}" for name, value in fixed.items())
    remarks = [
        overload_remark(result),
        f"Same in all rows: {same}." if same else "",
        f"{', '.join(measures)}: on the trace as recorded{_drawn(kept)}; behind_best: paired, "
        "against rank 1.",
        "front: no other row at that load is at least as good in all of "
        f"{', '.join(measures)} and better in one.",
        counts,
        *kept.remarks,
        *(f"Left out: {counted(count, 'job')}: {why}." for why, count in result.left_out.items()),
        _interval_remark(kept, rows),
        where,
    ]
    said = [remark for remark in remarks if remark]
    document = {
        "axes": list(result.axes),
        "measures": measures,
        "seeds": kept.plan.seeds,
        "blocks": result.drawn.independent,
        "block_h": result.drawn.block_h * result.drawn.run,
        "why_no_interval": result.drawn.why_not,
        "data_hash": result.data_hash,
        "left_out": dict(result.left_out),
        "rows": rows,
        "remarks": said,
    }
    shown = _narrow_columns(ranked, varied, measures) if narrow else list(ranked.columns)
    table = [{name: row[name] for name in shown} for row in rows]
    return Result.of_rows("sweep-report", table, values=finite(document), notes=said)


def overload_remark(result: SweepResult) -> str:
    """Say where jobs ask for more than there is; nothing if they do nowhere."""
    cells = result.cells[result.cells["seed"] == AS_RECORDED]
    times = times_asked(cells)
    if not len(times):
        return ""
    return (
        f"Overloaded in {len(times):,} of {len(cells):,} combinations: jobs ask for up to "
        f"{times.max():.3g} times what there is, so waits grow as long as jobs come, and their "
        "mean tells how long the trace is."
    )


def _drawn(kept: SavedSweep) -> str:
    """Say what intervals come from, if there are any."""
    drawn, seeds = kept.result.drawn, kept.plan.seeds
    if drawn.why_not or not seeds:
        return ""
    chosen = kept.plan.block_h is not None or drawn.broken
    held = "" if chosen else ", long enough to hold the backlog"
    return f"; 95 % intervals: {seeds} resampled traces from {drawn.told()}{held}"


def _interval_remark(kept: SavedSweep, rows: Sequence[JsonObject]) -> str:
    drawn, seeds = kept.result.drawn, kept.plan.seeds
    if drawn.why_not or not seeds:
        return f"No intervals: {drawn.why_not or 'no trace was resampled (seeds 0)'}."
    if drawn.broken:
        return f"Intervals of behind_best alone, and wide: {drawn.broken}."
    return interval_remark(drawn.independent, seeds, rows, kept.measures[0])


def _narrow_columns(
    ranked: pd.DataFrame, varied: Sequence[str], measures: Sequence[str]
) -> list[str]:
    """Return the columns that a terminal has room for."""
    shown = ["rank", *varied]
    for name in measures:
        ends = [f"{name}_low", f"{name}_high"]
        shown += [name, *ends] if ranked[ends[0]].notna().any() else [name]
    shown += ["behind_best", "behind_best_low", "behind_best_high", "clear", "front"]
    if ranked["behind_best_low"].isna().all():
        hidden = ("behind_best_low", "behind_best_high", "clear")
        shown = [name for name in shown if name not in hidden]
    return shown


def _front(names: Sequence[str]) -> list[str]:
    return [f"On the Pareto front: {'; '.join(dict.fromkeys(names))}."] if names else []


def _charts(rows: Sequence[JsonObject], measures: Sequence[str], plan: SweepPlan) -> list[Chart]:
    found = []
    for load in plan.loads:
        here = [row for row in rows if row["load"] == float(load)][:_SHOWN]
        at = f" at load x {load:g}" if len(plan.loads) > 1 else ""
        for place, name in enumerate(measures):
            values = {row[name] for row in here}
            if len(values) > 1:
                found.append(
                    Chart(f"ranked-{place}-load-{load:g}", f"{name} by combination{at}",
                          "intervals", here, x="combination", y=[name], unit=name)
                )  # fmt: skip
    return found
