"""Rules of a small file: a metric, a comparison, a value, for whom, and how surely.

::

    [[rule]]
    name = "production is done overnight"
    metric = "duration_s"
    comparison = "<="
    value = "8h"
    where = { queue = "prod" }   # all jobs if left out
    confidence = 0.9             # broken rules count from a 10 % chance on; 0.5 if left out
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import FormatError, MissingFileError, not_among, storage_error
from prophase.profile.submission.fields import column_value
from prophase.profile.submission.quantities import number_for
from prophase.trace.schema import JOBS, known_at_submit

Comparison = Literal["<=", "<", ">=", ">"]
_FIELDS = ("name", "metric", "comparison", "value", "where", "confidence")
_DEFAULT_CONFIDENCE = 0.5


@dataclass(frozen=True)
class Rule:
    """What a metric of a job has to keep, and how surely."""

    name: str
    metric: str
    comparison: Comparison
    value: float
    #: column -> value a job must have for the rule to apply
    where: Mapping[str, Any] = field(default_factory=dict)
    #: the rule has to hold with this probability
    confidence: float = _DEFAULT_CONFIDENCE

    @property
    def upper(self) -> bool:
        """Say whether the rule sets a highest value."""
        return self.comparison in ("<=", "<")

    def applies(self, jobs: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which jobs the rule is for."""
        chosen = np.ones(len(jobs), dtype=bool)
        for column, wanted in self.where.items():
            if column not in jobs:
                return np.zeros(len(jobs), dtype=bool)
            held = jobs[column]
            same = held == wanted if isinstance(wanted, float) else held.astype("string") == wanted
            chosen &= same.fillna(False).to_numpy(dtype=bool)
        return chosen

    def broken(self, outcome: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which outcomes break the rule."""
        compare = {"<=": np.greater, "<": np.greater_equal, ">=": np.less, ">": np.less_equal}
        return np.asarray(compare[self.comparison](outcome, self.value))


def read_rules(path: Path | str) -> list[Rule]:
    """Return the rules of a TOML or YAML file.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "rules.toml"
    >>> _ = path.write_text('[[rule]]\\nmetric = "duration_s"\\ncomparison = "<="\\nvalue = "4h"')
    >>> read_rules(path)[0].value
    14400.0
    """
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"{source}: there is no such file of rules.")
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise FormatError(f"{source}: is not text ({cause.reason}).") from cause
    except OSError as cause:
        raise storage_error(cause, source) from cause
    held = _parse(text, source)
    listed = held.get("rule", held.get("rules")) if isinstance(held, Mapping) else held
    if not isinstance(listed, list) or not listed:
        raise FormatError(
            f"{source}: holds no rules. Begin each with [[rule]], then metric, comparison and "
            "value."
        )
    return [_rule(one, f"{source}: rule {place}") for place, one in enumerate(listed, start=1)]


def _parse(text: str, source: Path) -> Any:
    if source.suffix.lower() in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as cause:
            said = " ".join(str(cause).split())
            raise FormatError(f"{source}: is not valid YAML: {said}. Correct it there.") from cause
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise FormatError(f"{source}: is not valid TOML: {cause}. Correct that line.") from cause


def _rule(held: Any, where: str) -> Rule:
    if not isinstance(held, Mapping):
        raise FormatError(f"{where} is {held!r}, but has to be a table of metric, comparison ...")
    for name in held:
        if name not in _FIELDS:
            raise FormatError(not_among(f"{where} has {name!r}.", str(name), _FIELDS))
    for name in ("metric", "comparison", "value"):
        if name not in held:
            raise FormatError(f"{where} has no {name}. It needs metric, comparison and value.")
    metric = str(held["metric"])
    column = JOBS.get(metric)
    if column is None or column.kind == "text" or column.known == "key":
        targets = [one.name for one in JOBS if one.kind == "number" and one.known == "after"]
        raise FormatError(not_among(f"{where}: metric is {metric!r}.", metric, targets))
    if held["comparison"] not in get_args(Comparison):
        raise FormatError(
            f"{where}: comparison is {held['comparison']!r}. Use one of "
            f"{', '.join(get_args(Comparison))}."
        )
    value = number_for(column, held["value"], f"{where}: value")
    if value is None:
        raise FormatError(f"{where}: value is missing.")
    return Rule(
        name=str(held.get("name") or f"{metric} {held['comparison']} {held['value']}"),
        metric=metric,
        comparison=held["comparison"],
        value=value,
        where=_selector(held.get("where"), where),
        confidence=_confidence(held.get("confidence", _DEFAULT_CONFIDENCE), where),
    )


def _selector(held: Any, where: str) -> dict[str, Any]:
    if held is None:
        return {}
    if not isinstance(held, Mapping):
        raise FormatError(f'{where}: where is {held!r}. Write for example {{ queue = "prod" }}.')
    known = known_at_submit(JOBS.names)
    for name in held:
        column = JOBS.get(str(name))
        if column is None or column.known == "after":
            raise FormatError(not_among(f"{where}: where has {name!r}.", str(name), known))
    return {
        str(name): column_value(str(name), value, f"{where}: {name}")
        for name, value in held.items()
    }


def _confidence(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise FormatError(
            f"{where}: confidence is {value!r}, but lies between 0 and 1. Write for example 0.9."
        )
    return float(value)
