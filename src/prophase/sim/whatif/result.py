"""What would change: scenarios compared with a baseline, as a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted, listed
from prophase.result import Result, Table
from prophase.sim.cluster import Cluster
from prophase.sim.schedule_result import overload_table
from prophase.sim.sweep.resampled_traces import AS_RECORDED, interval_remark
from prophase.sim.whatif.comparison import compare_scenarios, runnable_scenarios
from prophase.sim.whatif.scenarios import (
    BASELINE,
    PREDICTIVE,
    REACTIVE,
    WhatIfQuestion,
    scenarios_of,
)
from prophase.sim.whatif.smallest_cluster import (
    SmallestCluster,
    parse_wait_target,
    smallest_clusters,
)
from prophase.sim.workload import Workload
from prophase.stats import Estimate
from prophase.stats.bootstrap import why_too_few

_MOST_PAIRS = 20
Progress = Callable[[str, float | None], None]


def what_if(
    workload: Workload,
    cluster: Cluster,
    question: WhatIfQuestion,
    policy: Mapping[str, object],
    *,
    goal: str | None = None,
    measure: str = "mean_wait_s",
    seeds: int = 10,
    block_h: float | None = None,
    workers: int | str = 1,
    leave_out_unfit: bool = False,
    notes: Sequence[str] = (),
    progress: Progress = lambda step, percent: None,
    **values: object,
) -> Result:
    """Return scenarios ranked by a measure against the baseline, on the same jobs.

    Parameters
    ----------
    policy : mapping
        How the baseline is replayed: order, place, queue, estimate.
    goal : str, optional
        Such as ``p95 wait < 15 min``: how few nodes reach it is told, too.
    block_h : float, optional
        Hours that stay together in resampled traces; days that hold the backlog if not given.
    notes : sequence of str
        What is to be said of how the question was made.
    **values
        More that JSON has, such as the hash of the data.
    """
    promise = parse_wait_target(goal) if goal else None
    if promise is None and question.is_empty:
        raise ParameterError(
            "nothing to compare with the baseline. Say for example add, load, policy or target."
        )
    scenarios, remarks = scenarios_of(question, workload, cluster, dict(policy))
    scenarios = runnable_scenarios(scenarios, leave_out_unfit=leave_out_unfit)
    compared = compare_scenarios(
        scenarios,
        seeds=seeds,
        block_h=block_h,
        workers=workers,
        progress=_counting("replays", progress),
    )
    rows = [
        {str(name): value for name, value in row.items()}
        for row in finite(compared.ranked(measure).to_dict("records"))
    ]
    others = [row for row in rows if row["scenario"] != BASELINE]
    chosen = sorted(scenarios[0].policy.items())
    base = ", ".join(f"{name} {value}" for name, value in chosen if name != "estimate")
    blocks = compared.drawn
    quiet = f"No intervals: {blocks.why_not}." if blocks.why_not else ""
    if not seeds:
        quiet = "No intervals: no trace was resampled (seeds 0)."
    elif not quiet and (few := why_too_few(seeds)):
        quiet = f"No intervals: {few}."
    drawn = f"95 % interval: {seeds} resampled traces from {blocks.told()}"
    if block_h is None:
        drawn += ", long enough to hold the backlog" if not blocks.broken else ""
        drawn += "; the change in percent that such traces show, times the recorded baseline"
        drawn += f". Wide, because {blocks.broken}" if blocks.broken else ""
    told = [
        f"Baseline: {base}. {measure} and change: on the trace as recorded, the same jobs in every "
        f"scenario{', but for the load' if any(one.load != 1 for one in scenarios) else ''}.",
        quiet or f"{drawn}.",
        *remarks,
        *notes,
        *(f"Left out: {counted(count, 'job')}: {why}." for why, count in compared.left_out.items()),
        *(f"Note: {note}." for note in workload.unstated()),
        "" if quiet else interval_remark(blocks.independent, seeds, others, "change"),
    ]
    told = [line for line in told if line]
    answer = {
        **values,
        "measure": measure,
        "seeds": seeds,
        "blocks": blocks.independent,
        "block_h": blocks.block_h * blocks.run,
        "why_no_interval": blocks.why_not,
        "left_out": dict(compared.left_out),
        "rows": rows,
        "remarks": told,
    }
    tables = [Table("scenarios", _for_people(rows, measure))]
    overload, beyond = compared.overload(), compared.overloaded()
    if overload:
        answer["overload"] = overload
        tables.insert(0, overload_table(overload))
    if beyond:
        answer["overloaded"] = beyond
        each = listed([f"{name} ({share:.3g} times)" for name, share in beyond.items()])
        told.insert(
            0,
            f"{'Still overloaded' if overload else 'Overloaded'} with {each}: jobs ask for more "
            "than there is, so waits grow as long as jobs come.",
        )
    if question.pairing is not None:
        pairs = list(question.pairing.rows)
        answer["pairs"] = pairs
        tables.append(
            Table("pairs", pairs[:_MOST_PAIRS], "Pairs on one GPU; alone, each would have speed 1")
        )
    if question.scaling is not None:
        ways, verdict = _scaling_rows(compared.cells)
        told.append(verdict)
        answer["scaling"] = ways
        tables.append(Table("scaling", ways, "Nodes that are always on, or come and go"))
    if promise is None:
        return Result(
            "whatif",
            tables=tables,
            records=rows,
            notes=told,
            values=answer,
        )
    found = smallest_clusters(
        scenarios,
        promise,
        seeds=seeds,
        blocks=blocks,
        workers=workers,
        progress=_counting("searches", progress),
    )
    sizes = [_size(one) for one in found]
    shown = [{name: size[name] for name in size if name != "why_not"} for size in sizes]
    why = [f"{one.scenario}: no size reaches it: {one.why_not}." for one in found if one.why_not]
    return Result(
        "whatif",
        tables=[*tables, Table("smallest", shown, f"Fewest nodes for: {goal}")],
        records=_joined(rows, sizes),
        notes=[
            *told,
            *why,
            "nodes, gpus: on the trace as recorded; nodes_mean: over resampled traces; "
            "nodes_safe: enough on every one of them.",
        ],
        values={**answer, "target": goal, "smallest": sizes},
    )


def _for_people(rows: Sequence[JsonObject], measure: str) -> list[JsonObject]:
    """Return the rows as a terminal shows them: times in units that people use."""
    if not measure.endswith("_s"):
        return list(rows)
    return [
        {
            **{name: row[name] for name in ("rank", "scenario", "nodes", "gpus")},
            measure.removesuffix("_s"): units.duration(row[measure]),
            "change": _signed(row["change"]),
            "change_95": None
            if row["change_low"] is None
            else f"{_signed(row['change_low'])} to {_signed(row['change_high'])}",
            "change_pct": row["change_pct"],
            "verdict": row["verdict"],
        }
        for row in rows
    ]


def _scaling_rows(cells: pd.DataFrame) -> tuple[list[JsonObject], str]:
    """Return cost and wait of nodes that are always on and of both autoscalers, and who wins."""
    recorded: dict[str, JsonObject] = {
        str(row["scenario"]): {str(name): value for name, value in row.items()}
        for row in cells[cells["seed"] == AS_RECORDED].to_dict("records")
    }
    always, late, early = (recorded[name] for name in (BASELINE, REACTIVE, PREDICTIVE))
    unit = "gpu_hours" if always["gpus"] > 0 else "core_hours"
    owned = f"{unit}.owned"
    if owned not in always:
        raise ParameterError("scaling: the nodes state neither GPUs nor cores, so nothing is paid.")
    rows: list[JsonObject] = [
        {
            "nodes": words,
            f"{unit}_paid": one[owned],
            "paid_pct": 100 * one[owned] / always[owned],
            "mean_wait": units.duration(one["mean_wait_s"]),
            "p95_wait": units.duration(one["p95_wait_s"]),
            "mean_wait_s": one["mean_wait_s"],
        }
        for words, one in (("static", always), ("reactive", late), ("predictive", early))
    ]
    share = early[owned] / late[owned] - 1
    price = f"for {units.percent(abs(share))} {'more' if share > 0 else 'fewer'} paid hours"
    saved_s = late["mean_wait_s"] - early["mean_wait_s"]
    if saved_s <= 0:
        return rows, f"Predictive does not help: it waits no less than reactive, {price}."
    cut = units.percent(saved_s / late["mean_wait_s"])
    return rows, (
        f"Predictive cuts the mean wait of reactive by {cut} {price}. Reactive with a larger floor "
        "or a longer idle time cuts waits, too: compare both."
    )


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+' * (seconds > 0)}{units.duration(abs(seconds))}"


def _counting(what: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(f"{done} of {total} {what}", 100 * done / total)


def _size(one: SmallestCluster) -> JsonObject:
    interval = one.nodes_interval or Estimate(math.nan)
    low, high = interval.ends()
    size: JsonObject = finite(
        {
            "scenario": one.scenario,
            "nodes": one.nodes,
            "gpus": one.gpus,
            "value_s": one.value_s,
            "nodes_mean": interval.value,
            "nodes_low": low,
            "nodes_high": high,
            "nodes_safe": one.nodes_for_all_seeds,
            "gpus_safe": one.gpus_for_all_seeds,
            "why_not": one.why_not,
        }
    )
    return size


def _joined(rows: Sequence[JsonObject], sizes: Sequence[JsonObject]) -> list[JsonObject]:
    """Put what a goal needs beside each scenario, under names of its own."""
    by_name = {size["scenario"]: size for size in sizes}
    return [
        row | {f"target_{n}": v for n, v in by_name[row["scenario"]].items() if n != "scenario"}
        for row in rows
    ]
