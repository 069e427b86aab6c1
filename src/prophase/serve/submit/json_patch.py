"""A JSON Patch (RFC 6902) that is written while the object is changed."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from prophase.json_types import JsonMapping, JsonObject
from prophase.serve.submit.pods import Path


class Patch:
    """Changes to an object, and the operations that make them.

    Examples
    --------
    >>> patch = Patch({"metadata": {}})
    >>> patch.put(("metadata", "annotations", "prophase.dev/mode"), "set")
    >>> patch.operations[0]
    {'op': 'add', 'path': '/metadata/annotations', 'value': {}}
    >>> patch.operations[1]["path"]
    '/metadata/annotations/prophase.dev~1mode'
    """

    def __init__(self, document: JsonMapping) -> None:
        self.after: Any = copy.deepcopy(document)
        self.operations: list[JsonObject] = []

    def put(self, path: Path, value: Any) -> None:
        """Set a value; objects on the way that are not there are made."""
        held = self.after
        for place, key in enumerate(path[:-1]):
            if isinstance(key, int):
                held = held[key]
                continue
            if not isinstance(held.get(key), dict | list):
                self._add(path[: place + 1], {})
                held[key] = {}
            held = held[key]
        if isinstance(held, dict) and held.get(path[-1]) == value:
            return
        self._add(path, value)
        held[path[-1]] = value

    def remove(self, path: Path) -> None:
        """Take a value away, if it is there."""
        held = self.after
        for key in path[:-1]:
            held = held[key] if isinstance(key, int) else held.get(key)
            if not isinstance(held, dict | list):
                return
        if path[-1] in held:
            self.operations.append({"op": "remove", "path": pointer(path)})
            del held[path[-1]]

    def encoded(self) -> str:
        """Return the patch as an admission answer holds it."""
        return base64.b64encode(json.dumps(self.operations).encode()).decode()

    def _add(self, path: Path, value: Any) -> None:
        self.operations.append({"op": "add", "path": pointer(path), "value": value})


def pointer(path: Path) -> str:
    """Return a path as a JSON pointer.

    Examples
    --------
    >>> pointer(("spec", "containers", 0, "a/b~c"))
    '/spec/containers/0/a~1b~0c'
    """
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)
