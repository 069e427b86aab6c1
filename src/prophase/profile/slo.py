"""Service-level rules from a small file, which jobs will break them, and how right that was.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats
from prophase.errors import FormatError, MissingFileError, not_among, storage_error
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.range_probability import probability_above
from prophase.profile.predict.submit_columns import job_ids, numbers
from prophase.profile.submission.submission import column_value, number_for
from prophase.trace.schema import JOBS, known_at_submit

SloOperator = Literal["<=", "<", ">=", ">"]
_FIELDS = ("name", "metric", "comparison", "value", "where", "confidence")
_DEFAULT_CONFIDENCE = 0.5


@dataclass(frozen=True)
class SloRule:
    """What a metric of a job has to keep, and how surely."""

    name: str
    metric: str
    comparison: SloOperator
    value: float
    #: column -> value a job must have for the rule to apply
    where: JsonMapping = field(default_factory=dict)
    #: the rule has to hold with this probability
    confidence: float = _DEFAULT_CONFIDENCE

    @property
    def upper(self) -> bool:
        """Say whether the rule sets a highest value."""
        return self.comparison in ("<=", "<")

    def applies(self, jobs: pd.DataFrame) -> Bools:
        """Return which jobs the rule is for."""
        chosen = np.ones(len(jobs), dtype=bool)
        for column, wanted in self.where.items():
            if column not in jobs:
                return np.zeros(len(jobs), dtype=bool)
            held = jobs[column]
            same = held == wanted if isinstance(wanted, float) else held.astype("string") == wanted
            chosen &= same.fillna(False).to_numpy(dtype=bool)
        return chosen

    def broken(self, outcome: Floats) -> Bools:
        """Return which outcomes break the rule."""
        compare = {"<=": np.greater, "<": np.greater_equal, ">=": np.less, ">": np.less_equal}
        return np.asarray(compare[self.comparison](outcome, self.value))


def read_rules(path: Path | str) -> list[SloRule]:
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


def _parse(text: str, source: Path) -> object:
    if source.suffix.lower() in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except (
            yaml.YAMLError, ValueError, AttributeError, LookupError, OverflowError, RecursionError,
        ) as cause:  # fmt: skip
            said = " ".join(str(cause).split())
            raise FormatError(f"{source}: is not valid YAML: {said}. Correct it there.") from cause
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise FormatError(f"{source}: is not valid TOML: {cause}. Correct that line.") from cause


def _rule(held: object, where: str) -> SloRule:
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
    if held["comparison"] not in get_args(SloOperator):
        raise FormatError(
            f"{where}: comparison is {held['comparison']!r}. Use one of "
            f"{', '.join(get_args(SloOperator))}."
        )
    value = number_for(column, held["value"], f"{where}: value")
    if value is None:
        raise FormatError(f"{where}: value is missing.")
    return SloRule(
        name=str(held.get("name") or f"{metric} {held['comparison']} {held['value']}"),
        metric=metric,
        comparison=held["comparison"],
        value=value,
        where=_selector(held.get("where"), where),
        confidence=_confidence(held.get("confidence", _DEFAULT_CONFIDENCE), where),
    )


def _selector(held: object, where: str) -> JsonObject:
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


def _confidence(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise FormatError(
            f"{where}: confidence is {value!r}, but lies between 0 and 1. Write for example 0.9."
        )
    return float(value)


@dataclass(frozen=True)
class SloReport:
    """Predicted violations, job by job and rule by rule."""

    #: one row per job and rule that is predicted to be broken, the likeliest first
    violations: pd.DataFrame
    #: one dict per rule
    rules: tuple[dict[str, object], ...]

    @property
    def predicted(self) -> int:
        """Number of predicted violations."""
        return len(self.violations)


def judge_slo(model: JobModel, rules: Sequence[SloRule], jobs: pd.DataFrame) -> SloReport:
    """Predict which jobs will break which rules, from what is known at their submission.

    A rule counts as broken if the chance that it is kept lies below its confidence. Where the
    jobs have outcomes, each rule also says how many violations there were, how many of them
    were predicted, how many predictions were false alarms, and its Brier score (mean squared
    distance of probability and outcome) beside that of the constant best guess.

    Examples
    --------
    >>> from prophase.profile.predict.job_model import learn
    >>> past = pd.DataFrame({"user": ["ann", "bob"] * 40, "duration_s": [60.0, 6000.0] * 40})
    >>> model = learn(past, method="backoff-median")
    >>> rule = SloRule("short", "duration_s", "<=", 600.0)
    >>> found = judge_slo(
    ...     model, [rule], pd.DataFrame({"job_id": ["a", "b"], "user": ["ann", "bob"]})
    ... )
    >>> found.violations[["job_id", "rule"]].values.tolist()
    [['b', 'short']]
    """
    metrics = dict.fromkeys(rule.metric for rule in rules)
    model.check_targets(list(metrics))
    answers = {metric: model.predict(jobs, [metric]) for metric in metrics}
    parts, summaries = [], []
    for rule in rules:
        chosen = rule.applies(jobs)
        found = answers[rule.metric][chosen]
        chance = _chance(rule, found)
        predicted = np.nan_to_num(chance, nan=0.0) > 1 - rule.confidence
        parts.append(
            _violations(rule, jobs[chosen][predicted], found[predicted], chance[predicted])
        )
        outcome = numbers(jobs, rule.metric)[chosen]
        summaries.append(_summary(rule, chance, predicted, outcome))
    whole = pd.concat(parts, ignore_index=True)
    whole = whole.sort_values("probability", ascending=False, kind="stable", ignore_index=True)
    return SloReport(whole, tuple(summaries))


def _chance(rule: SloRule, answers: pd.DataFrame) -> Floats:
    """Return the probability that each job breaks the rule."""
    above = probability_above(answers, rule.value)
    return above if rule.upper else 1 - above


def _violations(
    rule: SloRule, jobs: pd.DataFrame, answers: pd.DataFrame, chance: Floats
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job_id": job_ids(jobs).to_numpy(dtype=object),
            "rule": rule.name,
            "metric": rule.metric,
            "probability": chance,
            "limit": rule.value,
            "value": answers["value"].to_numpy(),
            "low": answers["low"].to_numpy(),
            "high": answers["high"].to_numpy(),
            "reason": answers["reason"].to_numpy(dtype=object),
        }
    )


def _summary(rule: SloRule, chance: Floats, predicted: Bools, outcome: Floats) -> dict[str, object]:
    silent = int(np.isnan(chance).sum())
    summary: JsonObject = {
        "rule": rule.name,
        "metric": rule.metric,
        "jobs": len(chance),
        "predicted": int(predicted.sum()),
        "expected": float(np.nansum(chance)),
        "no_answer": silent,
    }
    judged = np.isfinite(outcome) & np.isfinite(chance)
    if judged.any():
        broken = rule.broken(outcome[judged])
        warned, odds = predicted[judged], chance[judged]
        base = float(broken.mean())
        summary |= {
            "judged": int(judged.sum()),
            "broken": int(broken.sum()),
            "caught": int((broken & warned).sum()),
            "false_alarms": int((~broken & warned).sum()),
            "brier": float(((odds - broken) ** 2).mean()),
            "brier_constant": base * (1 - base),
        }
    return summary
