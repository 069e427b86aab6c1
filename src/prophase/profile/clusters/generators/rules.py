"""Profiles by hand: the first rule that a job meets names its profile."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats
from prophase.errors import (
    FormatError,
    MissingColumnError,
    ParameterError,
    not_among,
    storage_error,
)
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.profile.clusters.clustering import Clustering
from prophase.profile.clusters.quality import OUTLIERS

#: what a rule may ask of a column
TESTS = ("is", "at_least", "below")
#: values of a column that become rules of their own
_MOST_VALUES = 50


@dataclass(frozen=True)
class Rule:
    """A name, and what each column has to be: ``{"gpu_util_mean_pct": {"at_least": 50}}``.

    ``is`` takes a value or a list of values; ``at_least`` and ``below`` take numbers.
    """

    name: str
    when: Mapping[str, JsonMapping]

    def __post_init__(self) -> None:
        for column, tests in self.when.items():
            where = f"rule {self.name!r}, column {column!r}"
            for test, wanted in tests.items():
                if test not in TESTS:
                    raise ParameterError(not_among(f"{where}: {test!r} is unknown.", test, TESTS))
                if test != "is" and not isinstance(wanted, int | float):
                    raise ParameterError(f"{where}: {test} is {wanted!r}, and has to be a number.")


@dataclass(frozen=True)
class ProfileRules:
    """Profiles by rules; a job that meets none is an outlier.

    Examples
    --------
    >>> rules = ProfileRules([Rule("busy", {"gpu_util_mean_pct": {"at_least": 50}})])
    >>> jobs = pd.DataFrame({"gpu_util_mean_pct": [80.0, 10.0]})
    >>> rules.cluster(np.zeros((2, 1)), jobs).labels
    array([ 0, -1])
    """

    rules: Sequence[Rule]
    name: str = "rules"
    metric: str = "euclidean"

    def settings(self) -> JsonObject:
        listed = [{"name": rule.name, "when": _plain(rule.when)} for rule in self.rules]
        return {"name": self.name, "rules": listed}

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        if jobs is None or not self.rules:
            raise ParameterError("profiles by rules need the job table, and one rule or more.")
        labels = np.full(len(jobs), OUTLIERS, dtype=np.int64)
        notes = []
        for number, rule in enumerate(self.rules):
            meets = _meets(rule, jobs) & (labels == OUTLIERS)
            labels[meets] = number
            if not meets.any():
                notes.append(f"No job is left for rule {rule.name!r}.")
        left = int((labels == OUTLIERS).sum())
        notes.append(f"{counted(left, 'job meets', 'jobs meet')} no rule.")
        names = {number: rule.name for number, rule in enumerate(self.rules)}
        strength = (labels != OUTLIERS).astype(np.float64)
        return Clustering(labels, strength, notes=tuple(notes), names=names)


def rules_of_column(jobs: pd.DataFrame, column: str, most: int = _MOST_VALUES) -> list[Rule]:
    """Return a rule per value of a column, the commonest first: the metadata as the profile.

    Examples
    --------
    >>> [
    ...     rule.name
    ...     for rule in rules_of_column(pd.DataFrame({"task": ["ps", "ps", "worker"]}), "task")
    ... ]
    ['ps', 'worker']
    """
    values = jobs[column].value_counts().index[:most]
    return [Rule(str(value), {column: {"is": value}}) for value in values]


def read_rules(path: Path) -> list[Rule]:
    """Read rules from a TOML file: a table ``[[rule]]`` each, with ``name`` and ``when``.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "rules.toml"
    >>> text = '[[rule]]\\nname = "busy"\\nwhen.gpu_util_mean_pct.at_least = 50'
    >>> _ = path.write_text(text)
    >>> read_rules(path)
    [Rule(name='busy', when={'gpu_util_mean_pct': {'at_least': 50}})]
    """
    try:
        held = tomllib.loads(path.read_text("utf-8"))
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise FormatError(f"{path}: is not valid TOML: {cause}. Correct that line.") from cause
    rules = held.get("rule")
    if not isinstance(rules, list) or not rules:
        raise FormatError(f"{path}: has no [[rule]]. Write one per profile, with name and when.")
    for number, rule in enumerate(rules, 1):
        when = rule.get("when") if isinstance(rule, dict) else None
        tests = when.values() if isinstance(when, dict) else [None]
        if "name" not in rule or not all(isinstance(one, dict) for one in tests):
            raise FormatError(
                f"{path}: rule {number} needs a name, and tests such as "
                "when.gpu_util_mean_pct.at_least = 50"
            )
    try:
        return [Rule(str(rule["name"]), rule["when"]) for rule in rules]
    except ParameterError as cause:
        raise FormatError(f"{path}: {cause}") from cause


def _meets(rule: Rule, jobs: pd.DataFrame) -> Bools:
    meets = np.ones(len(jobs), dtype=bool)
    for column, tests in rule.when.items():
        if column not in jobs:
            said = f"rule {rule.name!r} asks for the column {column!r}, which is not there."
            raise MissingColumnError(not_among(said, column, map(str, jobs.columns)))
        for test, wanted in tests.items():
            values = jobs[column]
            if test == "is":
                words = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
                meets &= values.isin(words).to_numpy()
            else:
                numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
                meets &= numbers >= wanted if test == "at_least" else numbers < wanted
    return meets


def _plain(when: Mapping[str, JsonMapping]) -> dict[str, JsonObject]:
    return {
        column: {test: list(w) if isinstance(w, tuple) else w for test, w in tests.items()}
        for column, tests in when.items()
    }
