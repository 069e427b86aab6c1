"""Find what of the paper's data is there: rows, the clustering grid, the printed errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from prophase.errors import InputError, MissingFileError, ProphaseError
from prophase.papers.polaris.published_claims import SAMPLED
from prophase.plural import counted
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace

#: names of the authors' row files, the larger one first
_ROWS = ("*100_001_sampled_workload_data*.csv*", "*1_000_sampled_test_data*.csv*")
_RESULTS = ("*_analysis.csv", "*duration_errors*.csv")
_SYNTHETIC_JOBS = 4_000


@dataclass(frozen=True)
class Inputs:
    """The data at hand; what is missing is None."""

    #: completed jobs
    rows: pd.DataFrame
    #: where the rows are from, in words
    origin: str
    #: whether they are of the trace that the paper is about
    real: bool
    grid: pd.DataFrame | None = None
    #: relative errors of the authors' 999 predictions, as ratios
    errors: pd.Series | None = None

    @property
    def whole(self) -> bool:
        """Say whether these are the very rows of the paper, so that numbers must be equal."""
        return self.real and len(self.rows) == SAMPLED


def find_inputs(folder: Path | str | None = None, *, random_state: int = 0) -> Inputs:
    """Return what a folder, file or workspace holds; without rows, a synthetic trace.

    Raises
    ------
    MissingFileError
        If there is no such folder or file.
    """
    made = _synthetic(random_state)
    if folder is None:
        return made
    path = Path(folder)
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such file or folder. Name the data's folder.")
    if path.is_file() or (path / "prophase.toml").is_file():
        return _with_rows(made, path)
    found = made
    for pattern in _ROWS:
        files = sorted(path.rglob(pattern))
        if files:
            found = _with_rows(made, files[0])
            break
    for home in _homes(path):
        tables = open_trace(home, source="polaris").tables
        if found.grid is None and "clustering_grid" in tables:
            found = replace(found, grid=tables["clustering_grid"])
        if found.errors is None and "duration_errors" in tables:
            found = replace(found, errors=tables["duration_errors"]["duration_error_frac"])
    if found is made:
        raise InputError(
            f"{path}: has none of the paper's files: {', '.join((*_ROWS, *_RESULTS))}. "
            "Get them with: prophase fetch polaris; or leave --data out for a synthetic trace."
        )
    return found


def _homes(path: Path) -> Iterator[Path]:
    """Yield folders with results that the reader of the authors' files understands."""
    homes = {file.parent for pattern in _RESULTS for file in path.rglob(pattern)}
    for home in sorted(homes):
        try:
            open_trace(home, source="polaris")
        except ProphaseError:
            # another project's *_analysis.csv
            continue
        yield home


def _with_rows(made: Inputs, path: Path) -> Inputs:
    jobs = _completed(open_trace(path, tables=["jobs"]).jobs)
    if jobs.empty:
        raise InputError(f"{path}: no job has completed, so there is nothing to profile.")
    real = bool((jobs["source"].astype("string") == "pai2020").all()) if "source" in jobs else False
    origin = f"{counted(len(jobs), 'row')} of {path.name}"
    return replace(made, rows=jobs, origin=origin, real=real)


def _synthetic(random_state: int) -> Inputs:
    trace = make_pai(jobs=_SYNTHETIC_JOBS, random_state=random_state)
    jobs = _completed(trace.jobs)
    return Inputs(jobs, f"synthetic trace, {len(jobs):,} jobs", real=False)


def _completed(jobs: pd.DataFrame) -> pd.DataFrame:
    kept = jobs["duration_s"] > 0
    if "status" in jobs:
        kept &= jobs["status"] == "completed"
    return jobs[kept].reset_index(drop=True)
