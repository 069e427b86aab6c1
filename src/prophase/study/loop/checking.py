"""Refuse a plan that no step could follow, before any work begins."""

from __future__ import annotations

from collections.abc import Iterable

from prophase.errors import ParameterError, not_among
from prophase.study.loop.plan import StudyPlan
from prophase.study.proof.given import PROVABLE
from prophase.trace.rules import keep_rules
from prophase.trace.schema import JOBS
from prophase.workers import parse_workers


def check_plan(plan: StudyPlan) -> None:
    """Raise ParameterError at the first setting that names nothing or is out of its range.

    Examples
    --------
    >>> check_plan(StudyPlan("ws", queue="skipp"))
    Traceback (most recent call last):
        ...
    prophase.errors.ParameterError: plan: there is no queue 'skipp'. Did you mean 'skip'? ...
    """
    usual = StudyPlan(plan.trace)
    for setting in ("order", "place", "queue", "methods", "targets", "resource"):
        value = getattr(plan, setting)
        if value == getattr(usual, setting):
            continue
        names = [value] if isinstance(value, str) else value
        if not names:
            raise ParameterError(f"plan: {setting} is empty: name at least one.")
        known = list(_known(setting))
        for name in names:
            if name not in known:
                what = setting.removesuffix("s")
                raise ParameterError(not_among(f"plan: there is no {what} {name!r}.", name, known))
    for setting, low in (("seed", 0), ("min_runs", 1)):
        if getattr(plan, setting) < low:
            said = f"plan: {setting} is {getattr(plan, setting)}: give {low} or more."
            raise ParameterError(said)
    for setting, high in (("test_share", 0.99), ("risk", 0.5), ("kills_after", 1.0)):
        value = getattr(plan, setting)
        if not 0 < value <= high:
            raise ParameterError(
                f"plan: {setting} is {value:g}: give a share above 0, up to {high}."
            )
    keep_rules(plan.keep)
    parse_workers(plan.workers)


def check_columns(plan: StudyPlan, columns: Iterable[str]) -> None:
    """Refuse classes and kinds by columns that the jobs do not have."""
    from prophase.sim.measures.groups import BUILT_IN

    held = list(columns)
    asked = [("by", plan.by, [*BUILT_IN, *held]), *(("kind", one, held) for one in plan.kind)]
    for setting, name, known in asked:
        if name not in known and name != "task":
            said = f"plan: {setting} names {name!r}, which is no column of the jobs."
            raise ParameterError(not_among(said, name, known, most=20))


def _known(setting: str) -> Iterable[str]:
    """Return what a setting may name; looked up only if it names something unusual."""
    if setting in ("order", "place"):
        from prophase.sim.policies import order_policies, place_policies

        return order_policies() if setting == "order" else place_policies()
    if setting == "queue":
        from prophase.sim.replaying import QUEUES

        return QUEUES
    if setting == "methods":
        from prophase.profile.predict.methods import METHODS

        return ("default", *METHODS)
    if setting == "targets":
        return (column.name for column in JOBS if column.kind == "number")
    return ("auto", *PROVABLE)
