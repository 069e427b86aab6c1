"""Recorded runs of Alibaba's PAI simulator, repeated and compared job by job."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import FormatError, MissingFileError
from prophase.json_types import JsonMapping, JsonObject
from prophase.papers.pai_sim.simulator import simulate_pai
from prophase.trace.trace_tables import open_trace
from prophase.workers import run_all

RESULTS = "results.json"
#: the simulator's name of an order -> ours
_ORDERS = {
    "FIFO": "fifo",
    "SJF": "shortest",
    "SJU": "user_dur",
    "SJG": "group_dur",
    "SJGG": "group_gpu_dur",
}
#: averages may differ by what summing in another order does
_ROUNDING = 1e-6


def pai_table(
    folder: Path,
    *,
    workers: int | str = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, object]]:
    """Repeat every run that ``results.json`` records; return one row per run.

    Parameters
    ----------
    folder : Path
        Holds ``results.json``, the inputs it names, and per-job results.
    """
    try:
        runs = json.loads((folder / RESULTS).read_text(encoding="utf-8"))["results"]
    except OSError as cause:
        raise MissingFileError(
            f"{folder / RESULTS}: is missing. Point --data at the folder with recorded runs of "
            "the PAI simulator."
        ) from cause
    except (ValueError, KeyError, TypeError) as cause:
        raise FormatError(f"{folder / RESULTS}: is not a list of recorded runs.") from cause
    for run in runs:
        _input(folder, run["input"])
    rows: dict[int, JsonObject] = {}
    with closing(run_all(_repeat, (folder, runs), range(len(runs)), workers=workers)) as results:
        for number, row in results:
            rows[number] = row
            if progress:
                progress(len(rows), len(runs))
    return [rows[number] for number in sorted(rows)]


def _repeat(shared: tuple[Path, list[JsonObject]], number: int) -> JsonObject:
    folder, runs = shared
    run = runs[number]
    result = simulate_pai(
        open_trace(_input(folder, run["input"]), source="pai-sim").jobs,
        gpus=run["num_gpus"],
        cores=run["num_cpus"],
        order=_ORDERS[run["policy"]],
        arrival_rate=run["arrival_rate"],
        hetero=run["hetero"],
        gpu_type_matching=run["gpu_type_matching"],
        node_order=run["sort_node_policy"],
    )
    pairs = {
        "mean_jct_s": (result.mean_jct_s, run["avg_jct"]),
        "mean_wait_s": (result.mean_wait_s, run["avg_wait"]),
        "makespan_s": (result.makespan_s, run["makespan"]),
    }
    row: JsonObject = {"run": run["tag"], "jobs": len(result.jobs)}
    for name, (ours, theirs) in pairs.items():
        row |= {name: float(ours), f"{name}_published": float(theirs)}
    differing = _differing_jobs(folder, run, result.jobs)
    same = all(abs(ours - theirs) <= _ROUNDING * abs(theirs) for ours, theirs in pairs.values())
    row["jobs_that_differ"] = differing
    agrees = "agrees in the averages" if differing is None else "agrees at every job"
    row["verdict"] = agrees if same and not differing else "DIFFERS"
    return row


def _differing_jobs(folder: Path, run: JsonMapping, jobs: pd.DataFrame) -> int | None:
    """Count jobs whose completion time is another; None without per-job results."""
    if not run.get("per_job"):
        return None
    theirs = pd.read_csv(_input(folder, run["per_job"]), dtype={"job_id": str})
    jct = theirs.drop_duplicates("job_id").set_index("job_id")["jct"]
    ours = jobs.assign(job_id=jobs["job_id"].astype(str)).set_index("job_id")["jct_s"]
    matched = jct.reindex(ours.index).to_numpy(float)
    return int((~np.isclose(ours.to_numpy(float), matched, rtol=0, atol=1e-6)).sum())


def _input(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise MissingFileError(f"{folder / name}: is named in {RESULTS}, but is not there.")
