"""Keep every finished cell of a long computation, so that a stopped one goes on where it was.

``KIND.json`` says which data the folder belongs to; ``cells.jsonl`` gets one line per cell,
written through to the disk. A line that a crash has cut off is dropped, and its cell runs again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prophase.atomic_files import held_by_one, write_whole
from prophase.errors import FormatError, WorkspaceError, storage_error
from prophase.version import __version__

CELLS, _LOCK = "cells.jsonl", ".lock"


class CellStore:
    """Finished cells of one folder, or of memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        #: key -> what the cell holds
        self.finished: dict[str, dict[str, Any]] = {}

    def add(self, key: str, cell: Mapping[str, Any]) -> None:
        """Keep a cell: when this returns it is on the disk."""
        self.finished[key] = dict(cell)
        if self.folder is None:
            return
        path = self.folder / CELLS
        try:
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"key": key, **cell}) + "\n")
                out.flush()
                os.fsync(out.fileno())
        except OSError as cause:
            raise storage_error(cause, path) from cause


@contextmanager
def open_cells(
    folder: Path | None, kind: str, data_hash: str, plan: Mapping[str, Any] | None = None
) -> Iterator[CellStore]:
    """Open the folder of a computation, or make it; cells stay in memory without a folder.

    A folder of other data or of another version is refused, and so is one in use. A plan that
    asks for more cells of the same data goes on with those that are there.

    Parameters
    ----------
    kind : str
        What is computed, such as ``sweep``; a folder holds one kind.
    plan : mapping, optional
        Written down for whoever opens the folder later.

    Examples
    --------
    >>> folder = getfixture("tmp_path") / "s"
    >>> with open_cells(folder, "sweep", "5f2a") as store:
    ...     store.add("fifo", {"wait_s": 3.0})
    >>> with open_cells(folder, "sweep", "5f2a") as store:
    ...     store.finished
    {'fifo': {'wait_s': 3.0}}
    """
    if folder is None:
        yield CellStore(None)
        return
    about = folder / f"{kind}.json"
    busy = (
        f"{folder}: another {kind} is writing there. Wait for it, or choose another folder with "
        "--out."
    )
    _refuse_others(folder, about, kind)
    with held_by_one(folder / _LOCK, WorkspaceError(busy)):
        try:
            _claim(about, kind, {"data_hash": data_hash, "version": __version__}, plan)
            store = CellStore(folder)
            store.finished = finished_cells(folder, kind, mend=True)
        except OSError as cause:
            raise storage_error(cause, folder) from cause
        yield store


def _refuse_others(folder: Path, about: Path, kind: str) -> None:
    try:
        held = sorted(one.name for one in folder.iterdir()) if folder.exists() else []
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    # what a process that was killed at the very beginning may leave
    held = [name for name in held if name != _LOCK and not name.startswith(f".{about.name}")]
    if held and about.name not in held:
        raise WorkspaceError(
            f"{folder}: is not the folder of a {kind} (it holds {held[0]}). Choose a new folder "
            "with --out."
        )


def _claim(path: Path, kind: str, about: Mapping[str, str], plan: Mapping[str, Any] | None) -> None:
    """Write what the folder belongs to, if that is what stands there or nothing does."""
    if path.exists():
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            differing = [name for name, value in about.items() if held[name] != value]
        except (json.JSONDecodeError, KeyError, TypeError) as cause:
            raise WorkspaceError(
                f"{path}: is damaged ({cause}). Choose a new folder with --out."
            ) from cause
        if differing:
            what = "other data" if "data_hash" in differing else "another version of Prophase"
            raise WorkspaceError(
                f"{path.parent}: holds a {kind} of {what}. Choose another folder with --out, or "
                "delete this one."
            )
    write_whole(path, json.dumps({**about, "plan": plan or {}}, indent=2))


def finished_cells(folder: Path, kind: str, *, mend: bool = False) -> dict[str, dict[str, Any]]:
    """Return the cells that a folder holds, by key.

    A last line without an end is being written, or was cut off by a crash; it does not count.

    Parameters
    ----------
    mend : bool, default=False
        Remove such a line from the file, which nobody else is writing.
    """
    path = folder / CELLS
    if not path.exists():
        return {}
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if mend and len(whole) < len(raw):
        with path.open("r+b") as out:
            out.truncate(len(whole))
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
            found[record.pop("key")] = record
        except (ValueError, KeyError, AttributeError) as cause:
            raise FormatError(
                f"{path} line {number}: is not a cell of a {kind}. Delete that line; its cell "
                "runs again."
            ) from cause
    return found
