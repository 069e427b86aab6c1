"""Keep every finished cell at once, so that a stopped sweep goes on where it was.

``sweep.json`` says which data the folder belongs to; ``cells.jsonl`` gets one line per cell,
written through to the disk. A line that a crash has cut off is dropped.
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

ABOUT, CELLS, _LOCK = "sweep.json", "cells.jsonl", ".lock"


class CellStore:
    """Finished cells of one folder, by key."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        #: key -> measures
        self.finished: dict[str, dict[str, Any]] = {}

    def add(self, key: str, measures: Mapping[str, Any]) -> None:
        """Keep a cell: when this returns it is on the disk."""
        self.finished[key] = dict(measures)
        if self.folder is None:
            return
        path = self.folder / CELLS
        line = json.dumps({"key": key, **measures}) + "\n"
        try:
            with path.open("a", encoding="utf-8") as out:
                out.write(line)
                out.flush()
                os.fsync(out.fileno())
        except OSError as cause:
            raise storage_error(cause, path) from cause


@contextmanager
def open_store(folder: Path | None, data_hash: str, plan: Mapping[str, Any]) -> Iterator[CellStore]:
    """Open the folder of a sweep, or make it; cells are kept in memory only without a folder.

    A folder of other data or of another version is refused, and so is one in use. A plan that
    asks for more cells of the same data goes on with those that are there.
    """
    if folder is None:
        yield CellStore(None)
        return
    with _locked(folder):
        try:
            about = {"data_hash": data_hash, "version": __version__}
            _refuse_foreign(folder, about)
            part = folder / f"{ABOUT}.part"
            part.write_text(json.dumps({**about, "plan": plan}, indent=2), encoding="utf-8")
            part.replace(folder / ABOUT)
            store = CellStore(folder)
            store.finished = _finished(folder / CELLS)
        except OSError as cause:
            raise storage_error(cause, folder) from cause
        yield store


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if not made and not (folder / ABOUT).exists():
            _refuse_others(folder)
        lock = (folder / _LOCK).open("w")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    with lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as cause:
            raise WorkspaceError(
                f"{folder}: another sweep is writing there. Wait for it, or choose another "
                "folder with --out."
            ) from cause
        yield


def _refuse_others(folder: Path) -> None:
    others = sorted(one.name for one in folder.iterdir() if one.name != _LOCK)
    if others:
        raise WorkspaceError(
            f"{folder}: is not the folder of a sweep (it holds {others[0]}). Choose a new "
            "folder with --out."
        )


def _refuse_foreign(folder: Path, about: Mapping[str, str]) -> None:
    path = folder / ABOUT
    if not path.exists():
        return
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        differing = [name for name, value in about.items() if held[name] != value]
    except (json.JSONDecodeError, KeyError, TypeError) as cause:
        raise WorkspaceError(
            f"{path}: is damaged ({cause}). Choose a new folder with --out."
        ) from cause
    if differing:
        what = "other jobs or nodes" if "data_hash" in differing else "another version of Prophase"
        raise WorkspaceError(
            f"{folder}: holds a sweep of {what}. Choose another folder with --out, or delete this "
            "one."
        )


def _finished(path: Path) -> dict[str, dict[str, Any]]:
    """Read the cells; a last line without an end was cut off by a crash and is removed."""
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
                f"{path} line {number}: is not a cell of a sweep. Delete that line; its cell "
                "runs again."
            ) from cause
    return found
