"""How a study ends: the one thing to do, its effect, its risk, and where the report is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from prophase import units
from prophase.json_types import JsonMapping
from prophase.plural import as_typed
from prophase.sizing.resources import RESOURCES
from prophase.study.study_answers import (
    NOT_ANSWERED,
    first_to_try,
    from_to,
    mean_wait,
    second_tries,
    with_range,
)
from prophase.study.study_report import NO_RUN_TIMES
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS

if TYPE_CHECKING:
    from prophase.study.pipeline import StudyResult

#: lines that a study ends in at most
MOST_LINES = 12
#: recommendations that are named
_NAMED = 3
#: step -> what to record so that it can be done
_RECORD = {
    "phases": "samples of use over time (prophase log, Prometheus, cgroup files)",
    "schedules": "the nodes (--cluster nodes.csv, or what scontrol show node prints)",
    "sizing": "what jobs asked for and their peak use (MaxRSS, peak_rss, memory.peak)",
    "predictions": "submit and run times, and who ran what",
    "profiles": "what jobs used",
}


#: stands in a command for a date that the trace does not have
_NO_DATE = "YYYY-MM-DD"


def closing(found: StudyResult, page: Path) -> list[str]:
    """Return at most twelve lines: what to do, what it does, what it risks, what was missing."""
    lines = [*_doubts(found), *_to_do(found), *_effect(found), *_lacks(found.cannot)]
    lines = lines[: MOST_LINES - 3]
    return [*lines, "", f"Report: {page}", *_next(found)][:MOST_LINES]


def _doubts(found: StudyResult) -> list[str]:
    findings = found.results.get("lint", {}).get("findings", ())
    errors = [one for one in findings if one["severity"] == "error"]
    if not errors:
        return []
    return [f"First: the data look wrong ({errors[0]['what']}); the report lists {len(errors)}."]


def _to_do(found: StudyResult) -> list[str]:
    sized = found.results.get("sizing")
    if not sized and "sizing" not in found.cannot:
        return ["Do: read the report; nothing was sized, as the steps were chosen."]
    if not sized:
        return [f"Do: nothing yet. {_first_reason(found.cannot)}"]
    if not sized["advised"]:
        return [f"Do: leave all requests as they are ({sized['tasks']:,} kinds of job looked at)."]
    resource, unit = RESOURCES[sized["resource"]].spoken, sized["unit"]
    verdict = (found.results.get("proof") or {}).get("verdict", {})
    outcome = verdict.get("outcome", "pass")
    what = f"{sized['advised']:,} of {sized['tasks']:,} kinds of job"
    if outcome == "fail":
        return [
            f"Do: keep the {resource} that jobs ask for. Changing {what} fails: {_failed(verdict)}."
        ]
    changes = _changes(found)
    named = first_to_try(found.results)
    if not sized.get("requested", True):
        lines = [f"Do: state the {resource} that {what} need; no job states any today:"]
    elif outcome != "undecided":
        lines = [f"Do: change the {resource} that {what} ask for:"]
    elif named is None:
        lines = [f"Do: wait before you change the {resource} of {what}: {_failed(verdict)}:"]
    else:
        changes.sort(key=lambda one: one["task"] != named)
        lines = [
            f"Do: change the {resource} of one kind of job, {_named(changes[0])}, and study again "
            f"after a week. All {what} are not proven yet: {_failed(verdict)}. They would be:"
        ]
    for one in changes[:_NAMED]:
        now = "" if one["now"] is None else f"{_amount(one['now'], unit)} -> "
        lines.append(f"  {_named(one)}: {now}{_amount(one['advice'], unit)}; {one['why']}")
    more = sized["advised"] - len(lines) + 1
    if more > 0:
        lines.append(f"  and {more:,} more: prophase size {as_typed(found.workspace)}")
    return lines


def _named(one: JsonMapping) -> str:
    """Return a kind of job with its tenant, once, as people wrote them.

    Examples
    --------
    >>> _named({"task": "nlp/ann/train", "tenant": "nlp/ann"})
    'train (nlp/ann)'
    """
    task, tenant = one["task"], one.get("tenant")
    if not tenant:
        return unquote(task)
    for form in (tenant, tenant.replace("/", "%2F")):
        task = task.removeprefix(f"{form}/")
    return unquote(f"{task} ({tenant})")


def _amount(value: float, unit: str) -> str:
    # time limits are kept in hours, and short ones are minutes
    return units.duration(3600 * value) if unit == "h" else units.amount(value, unit)


def _failed(verdict: JsonMapping) -> str:
    return "; ".join(one["words"] for one in verdict.get("checks", ()) if not one["holds"])


def _changes(found: StudyResult) -> list[JsonMapping]:
    """Return recommendations that change a request, the largest saving first."""
    from prophase.study.steps.size import RECOMMENDATION_FILE

    path = found.folder / RECOMMENDATION_FILE
    if not path.is_file():
        return []
    tasks = json.loads(path.read_text(encoding="utf-8"))["tasks"]
    kept = (found.results.get("proof") or {}).get("kept_tasks", {})
    changed = [
        one for one in tasks if one["advice"] not in (None, one["now"]) and one["task"] not in kept
    ]
    return sorted(changed, key=lambda one: -(one.get("saved_per_month") or 0.0))


def _effect(found: StudyResult) -> list[str]:
    proof = found.results.get("proof")
    if not proof:
        return []
    total = proof["totals"][0]
    lines = [
        f"Effect: {with_range(total['saved'])} of {total['name']} saved "
        f"({total['advised']:,.0f} instead of {total['today']:,.0f} {total['unit']})."
    ]
    if NO_RUN_TIMES in found.report.limits:
        lines[0] += f" {NO_RUN_TIMES}"
    wait = mean_wait(proof)
    if wait is not None and max(wait["today"], wait["advised"]) < 1:
        lines[0] += " No job waits in the replay, with or without it."
    elif wait is not None:
        lines[0] += f" Mean wait in the replay: {from_to(wait['today'], wait['advised'])}."
    short, of = second_tries(proof)
    allowed = units.percent((proof.get("limits") or {}).get("max_oom"))
    verdict = proof["verdict"]["outcome"].upper()
    risk = f"Risk: {with_range(short)} of {of} need a second try (limit {allowed})"
    lines.append(f"{risk}. Verdict: {verdict}.")
    return lines


def _lacks(cannot: Mapping[str, str]) -> list[str]:
    """Say once what the trace lacks, with what to record to get it."""
    known = {name: _RECORD[name] for name in cannot if name in _RECORD}
    if "sizing" in known:
        # what sizing needs is more than profiles need
        known.pop("profiles", None)
    if not known:
        return []
    said = "; ".join(f"{what} (for {name})" for name, what in known.items())
    return [f"To get more, record {said}."]


def _first_reason(cannot: Mapping[str, str]) -> str:
    reason = cannot.get("sizing") or cannot.get("proof") or NOT_ANSWERED
    # which columns are missing is in the report; what to record is said below
    said = f"A recommendation {reason.partition(';')[0]}" if reason.startswith("needs ") else reason
    return f"{said.partition('. ')[0].rstrip('.')}."


def _next(found: StudyResult) -> list[str]:
    here = as_typed(found.workspace)
    steps = [step.command for step in found.report.next_steps[:1] if _NO_DATE not in step.command]
    if not steps and "usage" in Workspace(found.workspace).tables:
        steps = [f"prophase autoscale {here}"]
    look = f"prophase serve {here} --open"
    if not (found.workspace / PREDICTIONS).is_file():
        # what its pages answer from
        look = f"prophase learn {here} && {look}"
    return [f"Next: {one}" for one in (*steps, look)]
