"""Which jobs will break a rule, and how right that was where the outcome is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.profile.predict.chances import probability_above
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.memory import Floats
from prophase.profile.predict.submitted import numbers
from prophase.profile.slo.rules import Rule


@dataclass(frozen=True)
class SloReport:
    """Predicted violations, job by job and rule by rule."""

    #: one row per job and rule that is predicted to be broken, the likeliest first
    violations: pd.DataFrame
    #: one dict per rule
    rules: tuple[dict[str, Any], ...]

    @property
    def predicted(self) -> int:
        """Number of predicted violations."""
        return len(self.violations)


def judge_slo(model: JobModel, rules: Sequence[Rule], jobs: pd.DataFrame) -> SloReport:
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
    >>> rule = Rule("short", "duration_s", "<=", 600.0)
    >>> found = judge_slo(
    ...     model, [rule], pd.DataFrame({"job_id": ["a", "b"], "user": ["ann", "bob"]})
    ... )
    >>> found.violations[["job_id", "rule"]].values.tolist()
    [['b', 'short']]
    """
    metrics = dict.fromkeys(rule.metric for rule in rules)
    model.check_targets(list(metrics))
    model.refuse_foreign(jobs)
    answers = {metric: model.predictors[metric].predict(jobs) for metric in metrics}
    parts, told = [], []
    for rule in rules:
        chosen = rule.applies(jobs)
        found = answers[rule.metric][chosen]
        chance = _chance(rule, found)
        predicted = np.nan_to_num(chance, nan=0.0) > 1 - rule.confidence
        parts.append(
            _violations(rule, jobs[chosen][predicted], found[predicted], chance[predicted])
        )
        outcome = numbers(jobs, rule.metric)[chosen]
        told.append(_summary(rule, chance, predicted, outcome))
    whole = pd.concat(parts, ignore_index=True)
    whole = whole.sort_values("probability", ascending=False, kind="stable", ignore_index=True)
    return SloReport(whole, tuple(told))


def _chance(rule: Rule, answers: pd.DataFrame) -> Floats:
    """Return the probability that each job breaks the rule."""
    above = probability_above(answers, rule.value)
    return above if rule.upper else 1 - above


def _violations(
    rule: Rule, jobs: pd.DataFrame, answers: pd.DataFrame, chance: Floats
) -> pd.DataFrame:
    ids = jobs["job_id"] if "job_id" in jobs else pd.Series(jobs.index.astype(str), jobs.index)
    return pd.DataFrame(
        {
            "job_id": ids.to_numpy(dtype=object),
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


def _summary(
    rule: Rule, chance: Floats, predicted: np.ndarray[Any, np.dtype[np.bool_]], outcome: Floats
) -> dict[str, Any]:
    silent = int(np.isnan(chance).sum())
    told: dict[str, Any] = {
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
        told |= {
            "judged": int(judged.sum()),
            "broken": int(broken.sum()),
            "caught": int((broken & warned).sum()),
            "false_alarms": int((~broken & warned).sum()),
            "brier": float(((odds - broken) ** 2).mean()),
            "brier_constant": base * (1 - base),
        }
    return told
