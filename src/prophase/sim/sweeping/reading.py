"""Results of a finished sweep on disk: enough to rank and draw them again without the trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from prophase.errors import FormatError, MissingFileError, storage_error
from prophase.sim.sweeping.plan import SweepPlan
from prophase.sim.sweeping.results import SweepResult

#: what the folder of a finished sweep holds, beside the cells of ``run_sweep``
TOLD, TABLE = "results.json", "cells.parquet"


@dataclass(frozen=True)
class KeptSweep:
    """A finished sweep: its results, its plan, and what was said with them."""

    result: SweepResult
    plan: SweepPlan
    measures: Sequence[str]
    remarks: Sequence[str] = ()
    trace: str = ""
    command: str = ""


def keep_sweep(kept: KeptSweep, folder: Path) -> None:
    """Write all cells, as a table, and what ``read_sweep`` needs beside them."""
    result = kept.result
    told = {
        "axes": list(result.axes),
        "blocks": result.blocks,
        "data_hash": result.data_hash,
        "left_out": dict(result.left_out),
        "measures": list(kept.measures),
        "remarks": list(kept.remarks),
        "trace": kept.trace,
        "command": kept.command,
        "plan": asdict(kept.plan),
    }
    try:
        result.cells.to_csv(folder / "cells.csv", index=False)
        result.cells.to_parquet(folder / TABLE, index=False)
        (folder / TOLD).write_text(json.dumps(told, indent=1), encoding="utf-8")
    except OSError as cause:
        raise storage_error(cause, folder) from cause


def is_sweep(folder: Path) -> bool:
    """Tell whether a folder holds a finished sweep."""
    return (folder / TOLD).is_file() and (folder / TABLE).is_file()


def read_sweep(folder: Path) -> KeptSweep:
    """Return the sweep that ``keep_sweep`` wrote."""
    if not is_sweep(folder):
        raise MissingFileError(
            f"{folder}: holds no finished sweep. Make one, or finish it, with: prophase sweep"
        )
    path = folder / TOLD
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        result = SweepResult(
            pd.read_parquet(folder / TABLE), tuple(told["axes"]), int(told["blocks"]),
            str(told["data_hash"]), dict(told["left_out"]),
        )  # fmt: skip
        return KeptSweep(
            result, SweepPlan(**told["plan"]), list(told["measures"]), list(told["remarks"]),
            str(told["trace"]), str(told["command"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, OSError) as cause:
        raise FormatError(
            f"{path}: is damaged ({cause!r}). Run the sweep again into this folder; finished cells "
            "are kept."
        ) from cause
