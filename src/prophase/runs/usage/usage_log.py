"""Log the usage of a command or of a stretch of code, and read what a logger has written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from prophase.errors import (
    FormatError,
    MissingFileError,
    ParameterError,
    StorageError,
    storage_errors,
)
from prophase.runs.attempt_rows import attempt_row, new_run_id
from prophase.runs.usage.measurement_order import Ending, MeasurementOrder, run_order
from prophase.runs.usage.sampler import DurableLines, whole_lines

#: ends of file names a table can be written to
FORMATS = (".parquet", ".csv", ".jsonl")


def read_usage(path: Path | str, *, series_id: str | None = None) -> pd.DataFrame:
    """Return the samples of a command, one row each, in the shape of the usage table.

    Parameters
    ----------
    path : path
        What ``prophase log`` or :func:`log_usage` has written: Parquet, CSV, or the lines a
        logger left that was killed.
    series_id : str, optional
        Name of the series; by default the one in the file, else the file's name.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file. Make one with: prophase log")
    if path.suffix == ".parquet":
        samples = pd.read_parquet(path)
    elif path.suffix == ".csv":
        samples = pd.read_csv(path)
    else:
        samples = pd.DataFrame(whole_lines(path))
    if "time_s" not in samples.columns:
        raise FormatError(f"{path}: holds no samples (no column time_s).")
    if series_id is not None or "series_id" not in samples.columns:
        samples = samples.drop(columns="series_id", errors="ignore")
        samples.insert(0, "series_id", series_id or path.name.removesuffix(path.suffix))
    return samples


def write_usage(samples: pd.DataFrame, path: Path) -> None:
    """Write samples in the format the file's name asks for."""
    check_format(path)
    with storage_errors(path):
        if path.suffix == ".parquet":
            samples.to_parquet(path, compression="zstd", index=False)
        elif path.suffix == ".csv":
            samples.to_csv(path, index=False)
        else:
            samples.to_json(path, orient="records", lines=True)


def check_format(path: Path) -> None:
    """Refuse a file name whose format we do not write, before anything runs."""
    if path.suffix not in FORMATS:
        raise ParameterError(f"{path}: the name must end with one of {', '.join(FORMATS)}.")


def run_logged(
    command: Sequence[str],
    out: Path | str = "usage.parquet",
    *,
    every_s: float = 5.0,
    memory_gib: float | None = None,
    jobs: Path | None = None,
) -> Ending:
    """Run a command, write its usage to a file, and return how it ended.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; its input and output are ours.
    out : path
        Parquet, CSV or JSON lines, by its end. While the command runs, samples are in
        ``OUT.part``, where they stay if the logger is killed.
    every_s : float, default=5
        Seconds between samples. The peak is measured apart from them.
    memory_gib : float, optional
        Limit that holds for all processes of the command together.
    jobs : path, optional
        File of JSON lines that gets the run as a row of the job table.
    """
    out = Path(out)
    part = _empty_part(out)
    with tempfile.TemporaryDirectory(prefix="prophase-log-") as folder:
        result = Path(folder) / "result.json"
        order = MeasurementOrder(
            list(command), str(part.resolve()), str(result), every_s=every_s, memory_gib=memory_gib
        )
        run_order(order, Path(folder))
        if not result.exists():
            raise StorageError(
                f"The logger was killed. What it had sampled is in {part}; read it with "
                "prophase.runs.usage.read_usage."
            )
        ending = Ending(**json.loads(result.read_text(encoding="utf-8")))
    if ending.samples > ending.lost_samples:
        write_usage(read_usage(part, series_id=_series_name(command)), out)
    part.unlink(missing_ok=True)
    if jobs is not None:
        lines = DurableLines(jobs)
        run_id = new_run_id(command, ending.started_at_s)
        lines.add(attempt_row(command, ending, run_id=run_id))
        lines.close()
    if ending.lost_samples:
        raise StorageError(
            f"{out}: no space left on the device; the last {ending.lost_samples} of "
            f"{ending.samples} samples could not be written. The command ended with exit code "
            f"{ending.exit_code}."
        )
    return ending


@contextmanager
def log_usage(out: Path | str = "usage.parquet", *, every_s: float = 5.0) -> Iterator[None]:
    """Log what this program and its children use while the block runs.

    A process beside this one does the sampling, so a crash of the block, or ``kill -9``, loses
    nothing that was sampled: it stays in ``OUT.part``.

    Examples
    --------
    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "usage.jsonl"
    >>> with log_usage(out, every_s=1):
    ...     work = [0] * 10_000
    >>> len(read_usage(out)) >= 2
    True
    """
    out = Path(out)
    part = _empty_part(out)
    order = {"pid": os.getpid(), "every_s": every_s, "samples": str(part.resolve())}
    beside = subprocess.Popen(
        [sys.executable, "-m", "prophase.runs.usage.sidecar", json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert beside.stdin is not None
    assert beside.stdout is not None
    try:
        beside.stdout.readline()
        yield
    finally:
        beside.stdin.close()
        beside.wait()
        beside.stdout.close()
        if part.stat().st_size:
            write_usage(read_usage(part, series_id=out.name.removesuffix(out.suffix)), out)
        part.unlink(missing_ok=True)


def _empty_part(out: Path) -> Path:
    """Make the file that samples go to while they are taken, empty."""
    check_format(out)
    part = out.with_name(out.name + ".part")
    with storage_errors(out):
        part.unlink(missing_ok=True)
        part.touch()
    return part


def _series_name(command: Sequence[str]) -> str:
    return Path(command[0]).name
