"""Samples as a table: read what a logger has written, even one that was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from prophase.errors import FormatError, MissingFileError, ParameterError, storage_error

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
        samples = pd.DataFrame(_whole_lines(path))
    if "time_s" not in samples.columns:
        raise FormatError(f"{path}: holds no samples (no column time_s).")
    if series_id is not None or "series_id" not in samples.columns:
        samples = samples.drop(columns="series_id", errors="ignore")
        samples.insert(0, "series_id", series_id or path.name.removesuffix(path.suffix))
    return samples


def write_usage(samples: pd.DataFrame, path: Path) -> None:
    """Write samples in the format the file's name asks for."""
    check_format(path)
    try:
        if path.suffix == ".parquet":
            samples.to_parquet(path, compression="zstd", index=False)
        elif path.suffix == ".csv":
            samples.to_csv(path, index=False)
        else:
            samples.to_json(path, orient="records", lines=True)
    except OSError as cause:
        raise storage_error(cause, path) from cause


def check_format(path: Path) -> None:
    """Refuse a file name whose format we do not write, before anything runs."""
    if path.suffix not in FORMATS:
        raise ParameterError(f"{path}: the name must end with one of {', '.join(FORMATS)}.")


def _whole_lines(path: Path) -> list[dict[str, float]]:
    """Return the rows of a file of JSON lines; half a line of a killed writer is left out."""
    rows = []
    for line in path.read_bytes().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows
