"""What is written down of a run: its commands beforehand, one row per attempt afterwards."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path

from prophase.json_types import JsonObject
from prophase.runs.end_cause import CUT_SHORT, cause_of, status_of
from prophase.runs.executor import Assignment
from prophase.runs.local.attempts import MEMORY_LATER, PYTHON_LATER, Attempt, attempts_of, read_json
from prophase.runs.usage.sampler import whole_lines

#: what a result says of the use in the words of the job table
_MEASURED = (
    "duration_s memory_peak_gib memory_peak_error_gib memory_method cpu_peak_cores cpu_mean_cores "
    "read_bytes write_bytes"
).split()


def run_spec(
    job: Assignment, run_id: str, *, code: str, allocations: str | None = None
) -> dict[str, object]:
    """Return all that whoever runs the tasks needs to know.

    Parameters
    ----------
    code : str
        Folder of the job code, where the tasks run.
    allocations : str, optional
        File with the memory and cores that are set per task while the campaign runs.
    """
    # memory and interpreter are known only when an attempt begins
    later = {"memory_gib": MEMORY_LATER, "python": PYTHON_LATER}
    filled = job.placeholders(run_id, code=code, **later)
    return {
        "id": job.id,
        "generation": job.resets,
        "env": job.environment(filled, "scenario", "date", "code", "run_id"),
        "tasks": {
            name: {**asdict(task), "command": task.filled_in({**filled, "task": name})}
            for name, task in job.pipeline.tasks.items()
        },
        "parallel_tasks": job.pipeline.parallel_tasks,
        "sample_every_s": job.pipeline.sample_every_s,
        "node_memory_gib": job.pipeline.node_memory_gib,
        "bins_gib": list(job.pipeline.bins_gib),
        "allocations": allocations,
    }


def task_rows(run: Path) -> list[JsonObject]:
    """Return what the tasks of a run were given, what they used, and how they ended.

    An attempt that ended for lack of memory says ``at_least_gib``: the task needs more than that.
    One that was cut short by something else, or measured only in part, needs at least what it had
    reached. Attempts that have not ended are left out. ``may_have_run_twice`` says that an earlier
    attempt was interrupted and nobody knows whether it had run to its end.
    """
    spec = read_json(run / "spec.json") or {"tasks": {}}
    rows = []
    for task in spec["tasks"]:
        unsure = False
        for attempt in attempts_of(run, task):
            result = attempt.result()
            if result is not None:
                row = _row(attempt, spec["tasks"][task])
                rows.append({**row, "may_have_run_twice": True} if unsure else row)
                unsure |= bool(result.get("unsure"))
    return rows


def _row(attempt: Attempt, task: JsonObject) -> JsonObject:
    result, order = attempt.result() or {}, attempt.order()
    samples = attempt.folder / "samples.jsonl"
    cause = cause_of(result)
    status = status_of(cause)
    row = {
        "task": attempt.task,
        "attempt": attempt.number,
        "status": status,
        "end_cause": cause,
        "submit_s": order.get("ordered_at_s", result["started_at_s"]),
        "start_s": result["started_at_s"],
        "end_s": result["started_at_s"] + result["duration_s"],
        "request_memory_gib": result["limit_gib"],
        "request_cpu_cores": task["cpu_cores"],
        "memory_mean_gib": _mean_memory(samples),
        **{name: result.get(name) for name in _MEASURED},
        "usage_file": str(samples),
    }
    if status == "oom":
        row["at_least_gib"] = result["limit_gib"]
    elif cause in CUT_SHORT or result.get("partly_measured"):
        row["at_least_gib"] = result.get("memory_peak_gib")
    if result.get("partly_measured"):
        # what it reached afterwards nobody has seen
        row["memory_peak_gib"] = row["cpu_peak_cores"] = row["cpu_mean_cores"] = None
    return row


def _mean_memory(samples: Path) -> float | None:
    """Return the mean over time, each sample standing for the stretch before it."""
    try:
        rows = whole_lines(samples)
    except OSError:
        return None
    if len(rows) < 2:
        return rows[0]["memory_gib"] if rows else None
    pairs = list(itertools.pairwise(rows))
    spans = [max(0.0, after["time_s"] - before["time_s"]) for before, after in pairs]
    weighted = sum(s * after["memory_gib"] for s, (_, after) in zip(spans, pairs, strict=True))
    return float(weighted / sum(spans)) if sum(spans) else float(rows[-1]["memory_gib"])
