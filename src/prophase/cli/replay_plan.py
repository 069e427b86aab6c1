"""A replay described in one file: the trace, the cluster, the policy and every rule."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from prophase.errors import FormatError, MissingFileError, ParameterError, not_among
from prophase.json_types import JsonObject

#: endings of a file that describes a replay
PLANS = (".toml", ".yaml", ".yml")
_TRACE = "trace"
#: settings that name files beside the plan
_FILES = (
    "nodes", "slurm", "calendar", "quotas", "cohorts", "shares", "reservations", "prices",
    "openb_arrivals",
)  # fmt: skip
_FORM = (
    "Write trace: FILE, and any option of prophase simulate by its name, such as cluster: 20x8, "
    "order: shortest, preempt: {checkpoint: 10min}."
)


def read_plan(path: Path) -> JsonObject:
    """Return the settings of a plan by the names of their options, with ``_`` for ``-``."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as cause:
        raise MissingFileError(f"{path}: there is no such plan. {_FORM}") from cause
    except (OSError, UnicodeDecodeError) as cause:
        raise FormatError(f"{path}: cannot be read as a plan. {_FORM}") from cause
    try:
        found = tomllib.loads(text) if path.suffix == ".toml" else _yaml(text)
    except ValueError as cause:
        kind = "TOML" if path.suffix == ".toml" else "YAML"
        raise FormatError(f"{path}: is not {kind} ({cause}). {_FORM}") from cause
    if not isinstance(found, Mapping) or not isinstance(found.get(_TRACE), str):
        raise FormatError(f"{path}: names no trace. {_FORM}")
    plan = {str(name).replace("-", "_"): value for name, value in found.items()}
    if "set" in plan:
        plan["settings"] = plan.pop("set")
    for name in (_TRACE, *_FILES):
        beside = path.parent / plan[name] if isinstance(plan.get(name), str) else None
        if beside is not None and (name == _TRACE or beside.exists()):
            plan[name] = str(beside)
    return plan


def planned(plan: JsonObject, groups: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return settings with what a plan says where the command line left the default.

    Parameters
    ----------
    groups : mapping
        Name -> a dataclass of options, or the value of a single option beside its default as
        ``(value, default)``.
    """
    singles = {name: given for name, given in groups.items() if isinstance(given, tuple)}
    classes = {name: given for name, given in groups.items() if not isinstance(given, tuple)}
    known = [_TRACE, *singles, *(one.name for given in classes.values() for one in fields(given))]
    for name in plan:
        if name not in known:
            said = f"{path}: {name!r} is no option of prophase simulate."
            raise ParameterError(not_among(said, name, known))
    found: dict[str, Any] = {
        name: plan.get(name, value) if value == default else value
        for name, (value, default) in singles.items()
    }
    for name, given in classes.items():
        wanted = {
            one.name: _typed(one.name, str(hints[one.name]), plan[one.name], path)
            for hints in [get_type_hints(type(given))]
            for one in fields(given)
            if one.name in plan and getattr(given, one.name) == _default(one)
        }
        found[name] = replace(given, **wanted) if wanted else given
    return found


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as cause:
        raise ValueError(str(cause)) from cause


def _default(one: Field[Any]) -> object:
    return one.default if one.default is not MISSING else None


def _typed(option: str, kind: str, value: object, path: Path) -> object:
    """Return a value as its option would have it: rules as text, lists of NAME=VALUE, paths."""
    if isinstance(value, Mapping):
        pairs = [f"{name}={_text(entry)}" for name, entry in value.items()]
        return pairs if "list" in kind else ",".join(pairs)
    if "list" in kind and not isinstance(value, Sequence | None):
        raise ParameterError(f"{path}: {option} is {value!r}, but is a mapping or a list.")
    if "Path" in kind and isinstance(value, str):
        return Path(value)
    if "str" in kind and not isinstance(value, str | None) and "list" not in kind:
        return _text(value)
    if "bool" in kind and not isinstance(value, bool):
        raise ParameterError(f"{path}: {option} is {value!r}, but is true or false.")
    if ("int" in kind or "float" in kind) and not isinstance(value, int | float):
        raise ParameterError(f"{path}: {option} is {value!r}, but is a number.")
    return value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
