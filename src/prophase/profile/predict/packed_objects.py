"""Take learned objects apart into JSON, arrays and blobs, and put them together again.

A learned object is a tree: objects of this package hold lists, numbers, arrays and boosters.
The tree becomes JSON; arrays and boosters are named in it and kept apart, equal ones once.
Only classes of this package are ever made again, and none of their code runs for it, so
a file cannot do anything but hold values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from prophase.array_types import Array
from prophase.errors import ModelFileError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.predict.leaf_forest import LeafForest, read_booster
from prophase.profile.predict.memory import Memory

#: objects of other packages are neither written nor made
_OURS = "prophase.profile."
#: modules that files may still name -> where their classes are now
_MOVED = {
    "prophase.profile.drift.culprit": "prophase.profile.drift.repair",
    "prophase.profile.drift.outcome_repair": "prophase.profile.drift.repair",
    "prophase.profile.drift.repair_plan": "prophase.profile.drift.repair",
    "prophase.profile.drift.predictions_made": "prophase.profile.drift.finished_jobs",
    "prophase.profile.predict.methods.baselines": "prophase.profile.predict.methods.medians",
    "prophase.profile.predict.methods.key_medians": "prophase.profile.predict.methods.medians",
}
_PLAIN = (bool, int, str)
_SERIES = (list, tuple, set, frozenset)


class Packer:
    """Collects the arrays and blobs of the objects that it packs."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.blobs: dict[str, bytes] = {}

    def pack(self, value: Any) -> Any:
        """Return the JSON form of a value."""
        if value is None or type(value) in _PLAIN:
            return value
        if type(value) is float:
            return {"float": value.hex()}
        if isinstance(value, np.ndarray):
            return self._pack_array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._keep(np.asarray(value))}
        if type(value) is dict:
            return {"dict": [[self.pack(key), self.pack(item)] for key, item in value.items()]}
        if type(value) in _SERIES:
            items = sorted(value, key=repr) if type(value) in (set, frozenset) else value
            return {type(value).__name__: [self.pack(item) for item in items]}
        if type(value).__name__ == "Booster":
            content = bytes(value.save_raw("ubj"))
            name = f"b{hashlib.sha256(content).hexdigest()[:16]}.ubj"
            self.blobs[name] = content
            return {"booster": name}
        return self._pack_object(value)

    def _pack_array(self, value: Array) -> Any:
        if value.dtype == object:
            # most texts and numbers of a column are the same few
            packed = [json.dumps(self.pack(item)) for item in value.tolist()]
            kinds = {text: place for place, text in enumerate(dict.fromkeys(packed))}
            places = np.array([kinds[text] for text in packed], dtype=np.int32)
            return {"objects": [list(map(json.loads, kinds)), self._keep(places)]}
        return {"array": self._keep(value)}

    def _keep(self, value: Array) -> str:
        held = np.ascontiguousarray(value).reshape(value.shape)
        digest = hashlib.sha256(f"{held.dtype}{held.shape}".encode() + held.tobytes())
        name = f"a{digest.hexdigest()[:16]}"
        self.arrays[name] = held
        return name

    def _pack_object(self, value: Any) -> Any:
        kind = type(value)
        if not kind.__module__.startswith(_OURS) or not hasattr(value, "__dict__"):
            raise ParameterError(
                f"a {kind.__module__}.{kind.__qualname__} cannot be saved in a model file. "
                "Save a model of another method."
            )
        state = vars(value)
        if isinstance(value, Memory | LeafForest):
            state = value.state()
        return {
            "object": f"{kind.__module__}:{kind.__qualname__}",
            "state": {name: self.pack(item) for name, item in state.items()},
        }


class Unpacker:
    """Makes objects from their JSON form, and the arrays and blobs beside it."""

    def __init__(self, arrays: Mapping[str, Array], blobs: Mapping[str, bytes]) -> None:
        self._arrays = arrays
        self._blobs = blobs
        self._boosters: JsonObject = {}

    def unpack(self, packed: Any) -> Any:
        """Return the value of a JSON form."""
        if packed is None or type(packed) in _PLAIN:
            return packed
        if "object" in packed:
            return self._unpack_object(packed["object"], packed["state"])
        ((word, held),) = packed.items()
        if word == "float":
            return float.fromhex(held)
        if word == "array":
            return self._arrays[held]
        if word == "scalar":
            return self._arrays[held][()]
        if word == "objects":
            kinds, places = held
            made = np.empty(len(kinds), dtype=object)
            made[:] = [self.unpack(item) for item in kinds]
            return made[self._arrays[places]]
        if word == "dict":
            return {self.unpack(key): self.unpack(item) for key, item in held}
        if word == "booster":
            return self._booster(held)
        series = {kind.__name__: kind for kind in _SERIES}[word]
        return series([self.unpack(item) for item in held])

    def _booster(self, name: str) -> Any:
        if name not in self._boosters:
            self._boosters[name] = read_booster(self._blobs[name])
        return self._boosters[name]

    def _unpack_object(self, name: str, state: JsonMapping) -> Any:
        kind = _class_named(name)
        if kind is Memory:
            return Memory.of_state({name: self.unpack(item) for name, item in state.items()})
        if kind is LeafForest:
            held = {name: self.unpack(item) for name, item in state.items() if name != "booster_"}
            return LeafForest.of_state(held, self._blobs[state["booster_"]["booster"]])
        made = object.__new__(kind)
        for attribute, item in state.items():
            # frozen dataclasses are no exception: their own __init__ does the same
            object.__setattr__(made, attribute, self.unpack(item))
        return made


def _class_named(name: str) -> type[object]:
    module, _, path = name.partition(":")
    module = _MOVED.get(module, module)
    found: Any = None
    if module.startswith(_OURS) and all(part.isidentifier() for part in module.split(".")):
        try:
            found = import_module(module)
        except ImportError:
            found = None
        for part in path.split("."):
            found = vars(found).get(part) if found is not None else None
    if not isinstance(found, type) or found.__module__ != module:
        raise ModelFileError(f"it holds {name!r}, which this version of Prophase does not know")
    return found
