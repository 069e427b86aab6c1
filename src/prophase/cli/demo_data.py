"""The tables of the demo: jobs and nodes like Alibaba's PAI, and usage of a few containers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.errors import WorkspaceError
from prophase.json_types import JsonObject
from prophase.plural import counted

if TYPE_CHECKING:
    import pandas as pd

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
    1.0,
    12,
    400,
    {"seeds": 10, "splits": 6, "methods": _METHODS, "steps": (*_STEPS, "next")},
)
QUICK = DemoSize(
    5_000,
    8.0,
    1.0,
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


def make_tables(folder: Path, size: DemoSize, seed: int, command: str) -> pd.DataFrame:
    """Fill the workspace and return the usage table."""
    from prophase.trace.synth.containers import make_containers
    from prophase.trace.synth.generator import tables_to_store
    from prophase.trace.synth.pai import make_pai
    from prophase.trace.workspace import Workspace

    trace = make_pai(size.jobs, days=size.days, utilisation=size.utilisation, random_state=seed)
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
