"""Jobs that share a GPU slow each other down: by a stated factor, or by a measured table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.rules.numbers import at_least
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI, Floats, Ints
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class Sharing:
    """How GPUs are shared, and what that costs.

    Attributes
    ----------
    per_gpu : int
        0: jobs get the share they ask for. 1: nobody shares, a fraction takes a whole GPU. From
        2: a job that asks for up to one GPU gets at most 1 / ``per_gpu`` of one, so that so many
        fit; jobs of several GPUs keep theirs for themselves.
    slowdown : float
        Each neighbour on a GPU makes a job so much longer: 0.28 is 28 %. A job of several GPUs
        goes as its slowest one does.
    table : DataFrame, optional
        Measured instead of stated: ``kind``, ``neighbour``, and ``speed``, the factor (0 to 1)
        that the neighbour leaves. Pairs not listed fall back to ``slowdown``.
    kind_column : str
        Column of the job table that names the kinds of the table.
    """

    per_gpu: int = 0
    slowdown: float = 0.0
    table: pd.DataFrame | None = None
    kind_column: str = "task"

    def __post_init__(self) -> None:
        at_least("sharing per_gpu", self.per_gpu, 0)
        at_least("sharing slowdown", self.slowdown, 0)
        if self.table is not None:
            missing = {"kind", "neighbour", "speed"} - set(self.table.columns)
            if missing:
                raise InputError(f"the sharing table lacks {', '.join(sorted(missing))}.")
            if not self.table["speed"].between(0, 10, inclusive="right").all():
                raise InputError("the sharing table has a speed that is not above 0.")

    @property
    def slows(self) -> bool:
        """Tell whether neighbours make a difference."""
        return self.slowdown > 0 or self.table is not None

    def apply(self, workload: Workload) -> Workload:
        """Return the workload with the requests that sharing leaves."""
        if self.per_gpu == 0:
            return workload
        asks = workload.asks.copy()
        small = (asks[:, ASK_GPUS] == 1) & (asks[:, ASK_MILLI] > 0)
        share = 1000 // self.per_gpu
        asks[small, ASK_MILLI] = (
            1000 if self.per_gpu == 1 else np.minimum(asks[small, ASK_MILLI], share)
        )
        return replace(workload, asks=asks)

    def pairs(self, kinds: list[str]) -> Floats:
        """Return the factor that each kind leaves to each other."""
        factor = np.full((len(kinds), len(kinds)), 1.0 / (1.0 + self.slowdown))
        if self.table is not None:
            place = {kind: row for row, kind in enumerate(kinds)}
            for row in self.table.to_dict("records"):
                one, other = place.get(str(row["kind"])), place.get(str(row["neighbour"]))
                if one is not None and other is not None:
                    factor[one, other] = float(row["speed"])
        return factor


@dataclass(frozen=True)
class Speeds:
    """How fast each kind of job runs on each GPU type, relative to the run time in the trace.

    Attributes
    ----------
    table : DataFrame
        ``gpu_type`` and ``speed``, and ``kind`` if kinds differ; ``*`` or an empty kind holds for
        all others. Types that are not listed run at speed 1.
    reference : str, optional
        The GPU type the trace's run times were measured on: speeds are divided by that type's.
    """

    table: pd.DataFrame
    kind_column: str = "task"
    reference: str | None = None

    def __post_init__(self) -> None:
        missing = {"gpu_type", "speed"} - set(self.table.columns)
        if missing:
            raise InputError(f"the table of speeds lacks {', '.join(sorted(missing))}.")
        if not (self.table["speed"] > 0).all():
            raise InputError("the table of speeds has a speed that is not above 0.")

    def matrix(self, kinds: list[str], gpu_types: tuple[str, ...]) -> Floats:
        """Return the speed of each kind on each GPU type of the cluster."""
        named = self.table["kind"].fillna("*").astype(str) if "kind" in self.table else "*"
        rows = self.table.assign(kind=named)
        known = {
            (str(kind), str(gpu_type)): float(speed)
            for kind, gpu_type, speed in rows[["kind", "gpu_type", "speed"]].to_numpy()
        }

        def speed(kind: str, gpu_type: str) -> float:
            return known.get((kind, gpu_type), known.get(("*", gpu_type), 1.0))

        return np.array(
            [
                [
                    speed(kind, gpu_type) / (speed(kind, self.reference) if self.reference else 1.0)
                    for gpu_type in gpu_types
                ]
                for kind in kinds
            ]
        )


def kinds_of(workload: Workload, column: str) -> tuple[Ints, list[str]]:
    """Return each job's kind as a row number, and the names of the rows."""
    if column not in workload.jobs:
        return np.zeros(len(workload), np.int64), [""]
    codes, names = pd.factorize(workload.jobs[column].fillna("").astype(str))
    return codes.astype(np.int64), [str(name) for name in names]
