"""Finished steps, kept by what went into them: the same inputs are not worked through twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase import __version__
from prophase.errors import storage_error

#: results of another layout are not used again
_LAYOUT = 1


def key_of(step: str, inputs: Mapping[str, Any]) -> str:
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

    def get(self, step: str, key: str) -> dict[str, Any] | None:
        """Return a finished result; None if there is none, or one that was cut."""
        try:
            found = json.loads(self._path(step, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        whole = isinstance(found, dict) and found.get("key") == key and "result" in found
        return found["result"] if whole else None

    def put(self, step: str, key: str, result: Mapping[str, Any]) -> None:
        """Keep a result; older ones of the step go when the new one is complete."""
        target = self._path(step, key)
        part = target.with_suffix(".part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"key": key, "result": result}, allow_nan=False)
            part.write_text(text, encoding="utf-8")
            part.replace(target)
            for old in self.folder.glob(f"{step}-*.json"):
                if old != target:
                    old.unlink(missing_ok=True)
        except OSError as cause:
            raise storage_error(cause, self.folder) from cause

    def _path(self, step: str, key: str) -> Path:
        return self.folder / f"{step}-{key[:16]}.json"
