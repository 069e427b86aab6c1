"""Finished steps, kept by what went into them: the same inputs are not worked through twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prophase.atomic_files import held_by_one, write_whole
from prophase.errors import WorkspaceError
from prophase.json_types import JsonMapping, JsonObject
from prophase.version import __version__

#: results of another layout are not used again
_LAYOUT = 4


def key_of(step: str, inputs: JsonMapping) -> str:
    """Return the key of a step: a hash of its name, its inputs and the version.

    Examples
    --------
    >>> key_of("lint", {"data": "a"}) == key_of("lint", {"data": "a"})
    True
    >>> key_of("lint", {"data": "a"}) == key_of("lint", {"data": "b"})
    False
    """
    whole = json.dumps([_LAYOUT, __version__, step, inputs], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


class StepCache:
    """Results of steps below one folder, one JSON file each."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def get(self, step: str, key: str) -> JsonObject | None:
        """Return a finished result; None if there is none, or one that was cut."""
        try:
            found = json.loads(self._path(step, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        whole = isinstance(found, dict) and found.get("key") == key and "result" in found
        return found["result"] if whole else None

    def put(self, step: str, key: str, result: JsonMapping) -> None:
        """Keep a result; older ones of the step go when the new one is complete."""
        target = self._path(step, key)
        write_whole(target, json.dumps({"key": key, "result": result}, allow_nan=False))
        for old in self.folder.glob(f"{step}-*.json"):
            if old != target:
                with suppress(OSError):
                    old.unlink(missing_ok=True)

    def _path(self, step: str, key: str) -> Path:
        return self.folder / f"{step}-{key[:16]}.json"


@contextmanager
def held_alone(place: Path) -> Iterator[Path]:
    """Hold the folder of a study for one process; yield the folder of finished steps."""
    folder = place / ".cache" / "study"
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    busy = (
        f"{place}: another study is at work in this folder. Wait until it has finished, or give "
        "this one a folder of its own with --out."
    )
    with held_by_one(folder / "lock", WorkspaceError(busy)):
        try:
            yield folder
        finally:
            _remove_empty(folder, new)


def _remove_empty(folder: Path, new: list[Path]) -> None:
    """Leave no folder behind that was made for nothing but locks."""
    locks = [folder / "lock", folder.parent / "lock"]
    below = [one for one in folder.parent.rglob("*") if one not in (folder, *locks)]
    if new and not below:
        with suppress(OSError):
            for lock in locks:
                lock.unlink(missing_ok=True)
            for one in new:
                one.rmdir()
