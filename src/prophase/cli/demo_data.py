"""The tables of the demo: jobs and nodes like Alibaba's PAI, and usage of a few containers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.errors import WorkspaceError
from prophase.json_types import JsonObject
from prophase.plural import counted

if TYPE_CHECKING:
    import pandas as pd

    from prophase.trace.trace_tables import Trace

#: when the history of the demo begins; it is the same history whenever it is made
FIRST_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
#: what the demo's tables say they come from; a folder with others is not touched
SOURCE = "demo"


@dataclass(frozen=True)
class DemoSize:
    """How much the demo makes and how long it looks at it."""

    jobs: int
    days: float
    #: share of the GPUs that requests would keep busy
    utilisation: float
    containers: int
    samples: int
    #: settings of the study
    plan: JsonObject


#: of the study; phases are looked at by the demo itself, which draws them
_STEPS = ("lint", "describe", "profiles", "predictions", "sizing", "proof", "schedules")
_METHODS = ("default", "backoff-median", "global-median")
FULL = DemoSize(
    15_000,
    8.0,
    0.85,
    12,
    400,
    {"seeds": 10, "splits": 6, "methods": _METHODS, "steps": (*_STEPS, "next")},
)
QUICK = DemoSize(
    5_000,
    8.0,
    0.7,
    6,
    240,
    {
        "seeds": 8,
        "splits": 3,
        "targets": ("duration_s",),
        "methods": _METHODS,
        "steps": _STEPS,
    },
)


def refuse_other_tables(folder: Path) -> None:
    """Stop before the demo would replace tables that are the user's own."""
    from prophase.trace.workspace import Workspace

    held = Workspace(folder).tables.values() if Workspace.is_at(folder) else ()
    for entry in held:
        if entry.source != SOURCE:
            raise WorkspaceError(
                f"{folder}: already has {entry.name} from {entry.source} "
                f"({counted(entry.rows, 'row')}), "
                "which the demo would replace. Choose a new folder: prophase demo FOLDER"
            )


def scheduled(trace: Trace, days: float) -> Trace:
    """Return the trace as its own nodes would have run it, on a calendar.

    The generator draws waits from published figures, whatever nodes there are. Here a replay,
    first come first served, says when each job starts, so that what runs at a time fits.
    """
    import numpy as np

    from prophase.sim import Cluster, Workload, simulate
    from prophase.trace.source_files import combined_hash
    from prophase.trace.synth.pai import START_S
    from prophase.trace.synth.pai_load import DAY_S

    jobs, nodes = trace.jobs, trace.nodes
    whole = jobs["duration_s"].fillna(trace.truth["truth_profiles"]["full_duration_s"])
    history = Workload.from_jobs(jobs.assign(duration_s=whole))
    ran = simulate(history, Cluster.from_nodes(nodes), leave_out_unfit=True).table
    ran = ran.set_index("job_id")
    # what fits on no node was never accepted
    jobs = jobs[jobs["job_id"].isin(ran.index)].reset_index(drop=True)
    start, lasts = (
        ran[name].reindex(jobs["job_id"]).to_numpy() for name in ("start_s", "duration_s")
    )
    until = START_S + days * DAY_S
    started, ended = start < until, start + lasts <= until
    status = np.select([~started, ~ended], ["pending", "running"], jobs["status"].astype(str))
    # the draw had it running at the end, the replay has it ended
    status = np.where(ended & np.isin(status, ["running", "pending"]), "completed", status)
    shift = FIRST_MONDAY.timestamp() - START_S
    told = jobs.assign(
        submit_s=jobs["submit_s"] + shift,
        start_s=np.where(started, start + shift, np.nan),
        end_s=np.where(ended, start + lasts + shift, np.nan),
        duration_s=np.where(ended, lasts, np.nan),
        wait_s=np.where(started, start - jobs["submit_s"], np.nan),
        status=status,
    )
    told.attrs = dict(trace.jobs.attrs)
    digest = combined_hash([trace.data_hash, "scheduled"])
    return replace(trace, tables={**trace.tables, "jobs": told}, data_hash=digest)


def make_tables(folder: Path, size: DemoSize, seed: int, command: str) -> pd.DataFrame:
    """Fill the workspace and return the usage table."""
    from prophase.trace.synth.containers import make_containers
    from prophase.trace.synth.generator import tables_to_store
    from prophase.trace.synth.pai import make_pai
    from prophase.trace.workspace import Workspace

    trace = scheduled(
        make_pai(size.jobs, days=size.days, utilisation=size.utilisation, random_state=seed),
        size.days,
    )
    containers = make_containers(
        size.containers,
        samples=size.samples,
        services=2,
        phases=3,
        kind="levels",
        metrics=("cpu_cores", "memory_gib"),
        random_state=seed,
    )
    usage = containers.tables["usage"]
    frames = {**tables_to_store(trace), "usage": usage}
    Workspace.create(folder).store_frames(
        frames,
        source=SOURCE,
        source_hash=trace.data_hash,
        command=command,
        clock=trace.clock,
        seed=seed,
        replace=True,
    )
    return usage
