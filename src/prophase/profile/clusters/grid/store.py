"""Keep every finished cell of a grid at once, so that a killed grid goes on where it was.

``grid.json`` says which data the folder belongs to; ``cells.jsonl`` gets one line per cell,
written through to the disk. A line that a crash has cut off is dropped, and its cell runs again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any

from prophase import __version__
from prophase.errors import FormatError, WorkspaceError, storage_error

ABOUT, CELLS, _LOCK = "grid.json", "cells.jsonl", ".lock"


class GridStore:
    """Finished cells of one folder, or of memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.finished: dict[str, dict[str, Any]] = {}

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Keep a cell: when this returns it is on the disk."""
        self.finished[key] = dict(row)
        if self.folder is None:
            return
        path = self.folder / CELLS
        try:
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"key": key, **row}) + "\n")
                out.flush()
                os.fsync(out.fileno())
        except OSError as cause:
            raise storage_error(cause, path) from cause


@contextmanager
def open_store(folder: Path | None, data_hash: str) -> Iterator[GridStore]:
    """Open the folder of a grid, or make it; refuse one in use, or of other data."""
    if folder is None:
        yield GridStore(None)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_others(folder)
        lock = (folder / _LOCK).open("w")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    with lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as cause:
            raise WorkspaceError(
                f"{folder}: another grid is writing there. Wait for it, or choose another folder."
            ) from cause
        try:
            _claim(folder, {"data_hash": data_hash, "version": __version__})
            store = GridStore(folder)
            store.finished = _finished(folder / CELLS)
        except OSError as cause:
            raise storage_error(cause, folder) from cause
        yield store


def _refuse_others(folder: Path) -> None:
    held = sorted(one.name for one in folder.iterdir() if one.name not in (_LOCK, ABOUT + ".part"))
    if held and ABOUT not in held:
        raise WorkspaceError(
            f"{folder}: is not the folder of a grid (it holds {held[0]}). Choose a new folder."
        )


def _claim(folder: Path, about: Mapping[str, str]) -> None:
    """Write what the folder belongs to, or compare it with what stands there."""
    path = folder / ABOUT
    if not path.exists():
        part = folder / f"{ABOUT}.part"
        part.write_text(json.dumps(about, indent=2), encoding="utf-8")
        part.replace(path)
        return
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        differing = [name for name, value in about.items() if held[name] != value]
    except (json.JSONDecodeError, KeyError, TypeError) as cause:
        raise WorkspaceError(f"{path}: is damaged ({cause}). Choose a new folder.") from cause
    if differing:
        what = "other jobs or metrics" if "data_hash" in differing else "another version"
        raise WorkspaceError(
            f"{folder}: holds a grid of {what}. Choose another folder, or delete this one."
        )


def _finished(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) < len(raw):
        with path.open("r+b") as out:
            out.truncate(len(whole))
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
            found[record.pop("key")] = record
        except (ValueError, KeyError, AttributeError) as cause:
            raise FormatError(
                f"{path} line {number}: is not a cell of a grid. Delete that line; its cell runs "
                "again."
            ) from cause
    return found
