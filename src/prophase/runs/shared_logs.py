"""Usage logs and output of tasks on shared storage: any address that fsspec can write to."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prophase.errors import MissingExtraError, StorageError
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    import pandas as pd

#: what is uploaded of an attempt, if it is there
_FILES = ("samples.jsonl", "stdout.log", "stderr.log", "result.json")


def upload_logs(rows: Sequence[JsonObject], url: str, run_id: str) -> list[JsonObject]:
    """Copy the logs of attempts below ``url/run/task/attempt``; return rows that say where.

    Parameters
    ----------
    rows : sequence of mappings
        Attempts; those without a ``usage_file`` have nothing to copy.
    url : str
        Such as ``s3://bucket/logs``, ``abfs://container/logs`` or ``file:///mnt/logs``.
    """
    files, root = _opened(url)
    uploaded = []
    for row in rows:
        folder = Path(str(row.get("usage_file") or "")).parent
        there = [folder / name for name in _FILES if row.get("usage_file")]
        place = f"{run_id}/{row['task']}/{row['attempt']}"
        there = [path for path in there if path.is_file()]
        try:
            if there:
                files.makedirs(f"{root}/{place}", exist_ok=True)
            for path in there:
                files.put_file(str(path), f"{root}/{place}/{path.name}")
        except Exception as cause:
            # every storage has errors of its own
            raise StorageError(f"{url}: logs cannot be written there: {cause}") from cause
        known = {"logs_url": f"{url.rstrip('/')}/{place}"} if there else {}
        uploaded.append({**row, **known})
    return uploaded


def read_shared_usage(logs_url: str, series_id: str) -> pd.DataFrame | None:
    """Return the samples that were uploaded; None if there are none."""
    from prophase.runs.usage.usage_log import read_usage

    files, root = _opened(logs_url)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / _FILES[0]
        try:
            files.get_file(f"{root}/{_FILES[0]}", str(copy))
        except FileNotFoundError:
            return None
        except Exception as cause:
            raise StorageError(f"{logs_url}: logs cannot be read there: {cause}") from cause
        return read_usage(copy, series_id=series_id) if copy.stat().st_size else None


def _opened(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as cause:
        raise MissingExtraError(f"Logs at {url}", "storage") from cause
    try:
        files, root = url_to_fs(url)
    except (ImportError, ValueError) as cause:
        # a protocol that is unknown, or whose own package is missing
        raise StorageError(f"{url}: {cause}") from cause
    return files, str(root).rstrip("/")
