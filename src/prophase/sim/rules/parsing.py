"""Rules as people write them: ``'checkpoint=10min,restart=30s'``, a mapping, or a table's path."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase import units
from prophase.errors import InputError, MissingFileError, ParameterError, not_among


def at_least(what: str, value: float, least: float, *, finite: bool = True) -> None:
    """Refuse a number that is not at least so large."""
    if not value >= least or (finite and not math.isfinite(value)):
        kind = "a finite number" if math.isinf(value) else "a number"
        raise ParameterError(f"{what} = {value:g}: give {kind} of at least {least:g}.")


_Rule = TypeVar("_Rule")


def as_rule(kind: type[_Rule], value: object, name: str) -> _Rule | None:
    """Return the rule that a text or a mapping describes; a rule or None as it is.

    Examples
    --------
    >>> from prophase.sim.rules.preemption import Preemption
    >>> as_rule(Preemption, "checkpoint=10min,restart=30s", "preempt").checkpoint_s
    600.0
    """
    if value is None or isinstance(value, kind):
        return value
    if isinstance(value, bool):
        return _made(kind, {}, name) if value else None
    if isinstance(value, Mapping):
        parts = {str(key): str(entry) for key, entry in value.items()}
    elif isinstance(value, str):
        if value.strip().lower() in ("on", "true", ""):
            return _made(kind, {}, name)
        if value.strip().lower() in ("off", "false", "none"):
            return None
        path_alone = "=" not in value and get_type_hints(kind).get("table") is pd.DataFrame
        parts = {"table": value} if path_alone else _pairs(value, name)
    else:
        raise ParameterError(f"{name} = {value!r} is not understood.")
    known = {field.name.removesuffix("_s"): field.name for field in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for word, text in parts.items():
        short = word.strip().removesuffix("_s")
        if short not in known:
            raise ParameterError(not_among(f"{name}: {word!r} is unknown.", short, known))
        try:
            given[known[short]] = _value(known[short], hints[known[short]], text.strip())
        except ValueError as cause:
            raise ParameterError(f"{name}: {word} = {text!r} is not understood: {cause}") from cause
    return _made(kind, given, name)


def _made(kind: type[_Rule], given: dict[str, Any], name: str) -> _Rule:
    needed = [
        field.name
        for field in fields(kind)  # type: ignore[arg-type]
        if field.default is MISSING and field.name not in given
    ]
    if needed:
        raise ParameterError(f"{name}: say {', '.join(needed)} as well.")
    return kind(**given)


def as_table(value: pd.DataFrame | str | Path | None, name: str) -> pd.DataFrame | None:
    """Return a table, or read it from a CSV or Parquet file."""
    if value is None or isinstance(value, pd.DataFrame):
        return value
    path = Path(value)
    if not path.is_file():
        raise MissingFileError(f"{name}: there is no file {path}.")
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ValueError, OSError) as cause:
        raise InputError(f"{name}: {path} cannot be read as a table: {cause}") from cause
    if table.empty:
        raise InputError(f"{name}: {path} has no rows.")
    return table


def number_column(
    table: pd.DataFrame,
    column: str,
    what: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    finite: bool = True,
    missing: float | None = None,
) -> NDArray[np.float64]:
    """Return a column as numbers; words, and numbers out of bounds, are refused with their row.

    Parameters
    ----------
    what : str
        Whose table it is, for the message.
    least, above, most : float
        Bounds; all but ``above`` are allowed themselves.
    finite : bool
        Refuse infinity, too.
    missing : float, optional
        What an empty cell stands for; a number is needed everywhere if it is not given.

    Examples
    --------
    >>> number_column(pd.DataFrame({"gpus": ["8", None]}), "gpus", "quotas", missing=0.0).tolist()
    [8.0, 0.0]
    """
    cells = table[column]
    found = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    empty = cells.isna().to_numpy(np.bool_)
    if not pd.api.types.is_numeric_dtype(cells):
        # numbers are never blank, and a million of them take a second to write out
        empty = empty | (cells.astype(str).str.strip() == "").to_numpy(np.bool_)
    if missing is not None:
        found = np.where(empty, missing, found)
    right = (found >= least) & (found > above) & (found <= most)
    right &= np.isfinite(found) | (not finite)
    right |= empty & (missing is not None)
    if not right.all():
        row = int(np.argmin(right))
        bounds = [f"of at least {least:g}"] * (least > -math.inf)
        bounds += [f"above {above:g}"] * (above > -math.inf)
        bounds += [f"up to {most:g}"] * (most < math.inf)
        job = f"job {table['job_id'].iloc[row]}" if "job_id" in table else f"row {row + 1}"
        seen = f"{str(cells.iloc[row])!r}" if np.isnan(found[row]) else f"{found[row]:g}"
        given = "is empty" if empty[row] else f"is {seen}"
        wanted = " ".join(["a finite number" if finite else "a number", " and ".join(bounds)])
        raise InputError(f"{what}: {column} of {job} {given}. Write {wanted.rstrip()}.")
    return found


def _pairs(text: str, name: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in text.split(","):
        word, equals, value = part.partition("=")
        if not equals:
            raise ParameterError(f"{name}: {part.strip()!r} is not NAME=VALUE.")
        parts[word.strip()] = value
    return parts


def _value(name: str, hint: Any, text: str) -> object:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    if hint is pd.DataFrame:
        return as_table(text, name)
    if get_origin(hint) is tuple:
        return tuple(filter(None, text.split("|")))
    if hint is bool:
        if text.lower() not in ("true", "false", "on", "off", "1", "0", "yes", "no"):
            raise ValueError("write true or false.")
        return text.lower() in ("true", "on", "1", "yes")
    if name.endswith("_s"):
        return span(text, name)
    if hint is int or hint is float:
        try:
            found: float = hint(text)
        except ValueError:
            found = math.nan
        if math.isnan(found):
            raise ValueError("write a whole number." if hint is int else "write a number.")
        return found
    return text


def span(value: float | str, name: str) -> float:
    """Return a span of time in seconds: a number, ``'10min'``, ``'inf'``."""
    text = str(value).strip()
    return math.inf if text == "inf" else units.parse_duration(text, bare="s", where=name)
