"""What a sweep found: means with intervals, the best, the Pareto front; saved and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import FormatError, MissingFileError, ParameterError, not_among, storage_error
from prophase.sim.signatures import Floats
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    DrawnBlocks,
    recorded_change,
    recorded_level,
)
from prophase.stats import Estimate

#: measures of which more is better; of others less is
_MORE_IS_BETTER = ("utilisation", "fairness")
DEFAULT_MEASURES = ("mean_wait_s", "gpus")


@dataclass(frozen=True)
class SweepResult:
    """All cells of a sweep, one row each; seed 0 is the trace as recorded."""

    cells: pd.DataFrame
    #: columns that name a combination
    axes: tuple[str, ...]
    #: blocks of days that seeds draw from
    drawn: DrawnBlocks
    data_hash: str
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def measures(self) -> list[str]:
        """Names of everything measured."""
        told = (*self.axes, "sizing", "sharing", "seed")
        return [str(name) for name in self.cells if name not in told]

    def ranked(self, measures: Sequence[str] = DEFAULT_MEASURES) -> pd.DataFrame:
        """Return one row per combination, best first at each load.

        Parameters
        ----------
        measures : sequence of str
            The first one ranks; all of them span the Pareto front. Less is better, except for
            utilisation and fairness.

        Returns
        -------
        DataFrame
            ``rank`` and the settings; for each measure its value on the trace as recorded and the
            ends of its interval over resampled traces (``_low``, ``_high``);
            ``behind_best``: the paired difference of the first measure to the best combination
            at that load, with its interval; ``clear``: whether that interval leaves out zero;
            ``front``: whether no other combination at that load is at least as good in all
            measures and better in one.
        """
        for name in measures:
            if name not in self.measures:
                raise ParameterError(
                    not_among(f"measure {name!r} is unknown.", name, self.measures)
                )
        if not measures:
            raise ParameterError("no measure to compare by. Name one, such as mean_wait_s.")
        parts = [self._at_load(group, measures) for _, group in self.cells.groupby("load")]
        return pd.concat(parts, ignore_index=True)

    def _at_load(self, cells: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
        names = list(self.axes)
        by_seed = {
            measure: cells.pivot(index=names, columns="seed", values=measure)
            for measure in measures
        }
        first = by_seed[measures[0]]
        sign = -1.0 if more_is_better(measures[0]) else 1.0
        recorded = first[AS_RECORDED].to_numpy(float)
        best = first.iloc[int(np.argmin(sign * recorded))]
        columns: dict[str, list[object]] = {}
        for measure, table in by_seed.items():
            rows = [self._estimate(None, row) for _, row in table.iterrows()]
            columns[measure] = [one.value for one in rows]
            columns[f"{measure}_low"] = [one.ends()[0] for one in rows]
            columns[f"{measure}_high"] = [one.ends()[1] for one in rows]
        behind = [self._estimate(best, row) for _, row in first.iterrows()]
        columns["behind_best"] = [one.value for one in behind]
        columns["behind_best_low"] = [one.ends()[0] for one in behind]
        columns["behind_best_high"] = [one.ends()[1] for one in behind]
        columns["clear"] = [one.known and not one.holds(0.0) for one in behind]
        table = pd.DataFrame(columns, index=first.index).reset_index()
        table["front"] = pareto_front(
            np.column_stack(
                [(-1.0 if more_is_better(m) else 1.0) * table[m].to_numpy(float) for m in measures]
            )
        )
        table = table.iloc[np.argsort(sign * recorded, kind="stable")].reset_index(drop=True)
        table.insert(0, "rank", np.arange(1, len(table) + 1))
        return table

    def _estimate(self, before: pd.Series | None, after: pd.Series) -> Estimate:
        """Return a measure as recorded, or how far it is from another, with its interval."""
        now, draws = float(after[AS_RECORDED]), after.drop(AS_RECORDED).to_numpy(float)
        then = 0.0 if before is None else float(before[AS_RECORDED])
        if self.drawn.why_not or not len(draws):
            return Estimate(now - then, reason=self.drawn.why_not or "no trace was resampled")
        if before is None and self.drawn.broken:
            return Estimate(now, reason=self.drawn.broken)
        if before is None:
            return recorded_level(now, draws, self.drawn.independent)
        other = before.drop(AS_RECORDED).to_numpy(float)
        return recorded_change((then, now), (other, draws), self.drawn.independent)


def pareto_front(costs: Floats) -> NDArray[np.bool_]:
    """Tell which rows no other row beats: at least as small everywhere and smaller once.

    Examples
    --------
    >>> pareto_front(np.array([[1.0, 9.0], [2.0, 8.0], [2.0, 9.0]])).tolist()
    [True, True, False]
    """
    no_worse = (costs[:, None, :] <= costs[None, :, :]).all(axis=2)
    better = (costs[:, None, :] < costs[None, :, :]).any(axis=2)
    beaten: NDArray[np.bool_] = np.any(no_worse & better, axis=0)
    return ~beaten


def more_is_better(measure: str) -> bool:
    """Tell whether a measure is a good that grows, such as utilisation."""
    return any(word in measure for word in _MORE_IS_BETTER)


#: what the folder of a finished sweep holds, beside the cells of ``run_sweep``
TOLD, TABLE = "results.json", "cells.parquet"


@dataclass(frozen=True)
class SavedSweep:
    """A finished sweep: its results, its plan, and what was said with them."""

    result: SweepResult
    plan: SweepPlan
    measures: Sequence[str]
    remarks: Sequence[str] = ()
    trace: str = ""
    command: str = ""


def save_sweep(kept: SavedSweep, folder: Path) -> None:
    """Write all cells, as a table, and what ``read_sweep`` needs beside them."""
    result = kept.result
    told = {
        "axes": list(result.axes),
        "drawn": asdict(result.drawn),
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


def read_sweep(folder: Path) -> SavedSweep:
    """Return the sweep that ``save_sweep`` wrote."""
    if not is_sweep(folder):
        raise MissingFileError(
            f"{folder}: holds no finished sweep. Make one, or finish it, with: prophase sweep"
        )
    path = folder / TOLD
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        result = SweepResult(
            pd.read_parquet(folder / TABLE), tuple(told["axes"]), DrawnBlocks(**told["drawn"]),
            str(told["data_hash"]), dict(told["left_out"]),
        )  # fmt: skip
        return SavedSweep(
            result, SweepPlan(**told["plan"]), list(told["measures"]), list(told["remarks"]),
            str(told["trace"]), str(told["command"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, OSError) as cause:
        raise FormatError(
            f"{path}: is damaged ({cause!r}). Run the sweep again into this folder; finished cells "
            "are kept."
        ) from cause
