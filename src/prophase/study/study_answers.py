"""The questions people come to a study with, each answered at a glance, or why it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prophase import units
from prophase.json_types import JsonMapping
from prophase.result import Answer

Results = Mapping[str, JsonMapping]
#: in place of an answer that the trace cannot give
NOT_ANSWERED = "not answered"
_ALL = "all jobs"


def answers(results: Results, cannot: Mapping[str, str]) -> list[Answer]:
    """Answer where the waste is, what to change, what that saves, risks and does to waits.

    Parameters
    ----------
    results : mapping of str to mapping
        Step of the study -> its numbers.
    cannot : mapping of str to str
        Step that could not be done -> why. Steps in neither were not asked for.

    Examples
    --------
    >>> (one,) = answers({}, {"sizing": "needs memory_peak_gib", "proof": "needs the sizing"})
    >>> one.question, one.value, one.text
    ('What should change?', 'not answered', 'That needs memory_peak_gib.')
    """
    asked: tuple[tuple[str, str, Callable[[JsonMapping, Results], list[Answer]]], ...] = (
        ("describe", "Where is the waste?", _waste),
        ("sizing", "What should change?", _change),
        ("proof", "What would it save, and risk?", _proof),
        ("schedules", "Would another queue order help?", _order),
        ("predictions", "What is known before a job runs?", _known),
    )
    found = monday(results)
    for step, question, answer in asked:
        if step in results:
            found += answer(results[step], results)
        elif step in cannot and not (step == "proof" and "sizing" in cannot):
            found.append(Answer(question, NOT_ANSWERED, _why(cannot[step]), "cannot"))
    return found


def monday(results: Results) -> list[Answer]:
    """Say the one thing to do with what was found."""
    question, sized, proof = "What to do on Monday", results.get("sizing"), results.get("proof")
    if not sized:
        return []
    tasks = f"{sized['advised']:,} of {sized['tasks']:,} tasks"
    if not sized["advised"]:
        return [Answer(question, "nothing", f"None of {sized['tasks']:,} tasks gains by a change.")]
    if not sized.get("requested", True):
        first = f"{tasks} ran often enough to say what they should ask for; no job says so today."
        return [Answer(question, f"set {sized['advised']:,} requests", first, "change")]
    outcome = (proof or {}).get("verdict", {}).get("outcome")
    if outcome == "pass":
        first = f"Change the requests of {tasks}, the largest saving first."
        return [Answer(question, f"apply {sized['advised']:,} recommendations", first, "change")]
    if outcome == "fail":
        text = "The recommendation does not keep the limits on this history."
        return [Answer(question, "change nothing", text, "kept")]
    named = first_to_try(results)
    text = (
        f"Begin with the one that saves most ({named}), for a week, and study again: the history "
        "is too short to show that all limits hold."
        if named
        else "This history does not show that anything is saved."
    )
    return [Answer(question, "try one task" if named else "wait", text, "change")]


def first_to_try(results: Results) -> str | None:
    """Return where to begin when not all is proven: the task that saves most, if any is saved."""
    proof = results.get("proof") or {}
    saved = [total["saved"].get("low") for total in proof.get("totals", ())]
    if not saved or (saved[0] or 0.0) <= 0:
        return None
    return next((one["task"] for one in proof.get("tasks", ())), None)


def sentence_of(reason: str) -> str:
    """Return why a step could not be done as the end of a sentence.

    Examples
    --------
    >>> sentence_of("needs the nodes")
    'that needs the nodes.'
    """
    said = f"that {reason}" if reason.startswith("needs ") else reason
    return f"{said.rstrip('.')}."


def _why(reason: str) -> str:
    said = sentence_of(reason)
    return f"{said[:1].upper()}{said[1:]}"


def _waste(described: JsonMapping, results: Results) -> list[Answer]:
    question, section = "Where is the waste?", "waste"
    used = {row["resource"]: row["used_pct"] / 100 for row in described.get("used", ())}
    # what is left of a time limit is idle on no machine
    limits = used.pop("run time", None)
    if not used and limits is not None:
        why = (
            f"Jobs use {units.percent(limits)} of their time limits; no more is known of their use."
        )
        return [Answer(question, NOT_ANSWERED, why, section)]
    if not used:
        why = "The trace does not say what jobs used of what they asked for."
        return [Answer(question, NOT_ANSWERED, why, section)]
    sized = str(results.get("proof", {}).get("resource", "")).lower()
    first = min(used, key=lambda name: (not (sized and name.lower().startswith(sized)), used[name]))
    resource, _, how = first.partition(", ")
    text = f"of the {resource} asked for is used" + (f" ({how})." if how else ".")
    others = "; ".join(f"{name}: {units.percent(used[name])}" for name in used if name != first)
    if others:
        text += f" {others[:1].upper()}{others[1:]}."
    return [Answer(question, units.percent(used[first]), text, section)]


def _change(sized: JsonMapping, results: Results) -> list[Answer]:
    question, section = "What should change?", "change"
    if not sized["advised"]:
        text = f"All {sized['tasks']:,} tasks keep their request: too few runs, or too little gain."
        return [Answer(question, "nothing", text, section)]
    proof = results.get("proof")
    jobs = f" They are {proof['advised_jobs']:,} of {proof['jobs']:,} jobs." if proof else ""
    text = f"should ask for something else; the others keep their request.{jobs}"
    if not sized.get("requested", True):
        text = "should state a request, which no job does today."
    return [Answer(question, f"{sized['advised']:,} of {sized['tasks']:,} tasks", text, section)]


def _proof(proof: JsonMapping, results: Results) -> list[Answer]:
    total = proof["totals"][0]
    saved = Answer(
        "What does it save?", with_range(total["saved"]),
        f"of {total['name']}: {total['advised']:,.0f} instead of {total['today']:,.0f} "
        f"{total['unit']}, retries included.", "saved",
    )  # fmt: skip
    return [saved, _risk(proof), _waits(proof), _sure(proof)]


def second_tries(proof: JsonMapping) -> tuple[JsonMapping, str]:
    """Return the share of jobs whose first request is too small, and of which jobs it is.

    Of later jobs, if there are any: the share among the jobs that a recommendation was learnt from
    is too optimistic.
    """
    later = (proof.get("splits") or {}).get("held_out_oom")
    if later and later.get("value") is not None:
        return later, "later jobs, with a recommendation made before they ran,"
    return proof["oom"], "the jobs that the recommendation was learnt from"


def _risk(proof: JsonMapping) -> Answer:
    short, of = second_tries(proof)
    allowed = units.percent((proof.get("limits") or {}).get("max_oom"))
    text = f"of {of} need a second try. Limit: {allowed}."
    return Answer("What does it risk?", with_range(short), text, "kept")


def _waits(proof: JsonMapping) -> Answer:
    question, section = "What does it do to waiting times?", "waits"
    wait = mean_wait(proof)
    if wait is None:
        why = proof.get("why_no_replay") or "nothing was replayed"
        hint = " Name one: --cluster nodes.csv." if "no cluster" in why else ""
        return Answer(question, NOT_ANSWERED, _why(why) + hint, section)
    recorded = (proof.get("replays") or {}).get("recorded_wait_s")
    text = f"mean wait of all jobs in a replay, today and with the recommendation.{_sureness(wait)}"
    if recorded is not None:
        text += f" The trace recorded {units.duration(recorded)}."
    return Answer(question, from_to(wait["today"], wait["advised"]), text, section)


def _sureness(wait: JsonMapping) -> str:
    low, high = wait.get("change_low"), wait.get("change_high")
    if low is None or high is None:
        return ""
    said = f" 95 % interval of the change: {from_to(low, high)}."
    return f"{said} It contains zero: no clear change." if low < 0 < high else said


def from_to(first_s: float, second_s: float) -> str:
    """Write two lengths of time, with their unit once if it is the same.

    Examples
    --------
    >>> from_to(7051.3, 3993.0), from_to(5400, 240)
    ('1.96 to 1.11 h', '1.5 h to 4 min')
    """
    first, second = units.duration(first_s), units.duration(second_s)
    if first.split(" ")[-1] == second.split(" ")[-1]:
        first = first.rsplit(" ", 1)[0]
    return f"{first} to {second}"


def mean_wait(proof: JsonMapping) -> JsonMapping | None:
    """Return the change of all jobs' mean wait."""
    changes = (proof.get("replays") or {}).get("changes", ())
    rows = (row for row in changes if row["measure"] == "mean_wait_s" and row["of"] == _ALL)
    return next(rows, None)


def _sure(proof: JsonMapping) -> Answer:
    question, section = "How sure is that?", "kept"
    splits = proof.get("splits") or {}
    if not splits.get("told"):
        why = "No later job matches a recommendation made before it, so there is no back-test."
        return Answer(question, NOT_ANSWERED, why, section)
    count = len(splits["splits"])
    text = (
        "cut-off dates of the back-test at which later jobs saved what was predicted, or at most "
        f"{splits['near_points']:g} points less."
    )
    return Answer(question, f"{splits['kept']} of {count}", text, section)


def _order(study: JsonMapping, results: Results) -> list[Answer]:
    question, section = "Would another queue order help?", "policies"
    rows = [row for row in study["policies"] if row["of"] == _ALL and row["kind"] == "order"]
    fifo = next((row for row in rows if row["policy"] == "fifo"), None)
    if fifo is not None and fifo["mean_wait_s"] < 1:
        text = f"The {study['jobs']:,} later jobs start at once, whatever the order."
        return [Answer(question, "no", text, section)]
    guessed = next((row for row in rows if "predicted by" in row["policy"]), None)
    if guessed is None or guessed.get("change_pct") is None:
        return [Answer(question, NOT_ANSWERED, "No predictor could answer on this trace.", section)]
    low, high = guessed.get("change_pct_low"), guessed.get("change_pct_high")
    span = "" if low is None or high is None else f" ({low:.1f} to {high:.1f})"
    text = (
        f"mean completion time of the {study['jobs']:,} later jobs, shortest predicted first, "
        "against first come, first served."
    )
    if span and low < 0 < high:
        text += " The interval contains zero: no clear change."
    elif not span:
        text += " Too few days or resampled traces for an interval."
    return [Answer(question, f"{guessed['change_pct']:+.1f} %{span}", text, section)]


def _known(predicted: JsonMapping, results: Results) -> list[Answer]:
    row = predicted["rows"][0]
    if row.get("within_x2_pct") is None:
        return []
    what = {"duration_s": "run times", "memory_peak_gib": "memory peaks"}
    text = f"of {what.get(row['target'], row['target'])} are predicted within a factor of two."
    if row.get("coverage_90_pct") is not None:
        text += f" Coverage of the 90 % ranges: {row['coverage_90_pct']:.1f} %."
    value = f"{row['within_x2_pct']:.1f} %"
    question, section = "What is known before a job runs?", "predictions"
    return [Answer(question, value, text, section)]


def with_range(estimate: JsonMapping) -> str:
    """Write a share of an estimate with its interval.

    Examples
    --------
    >>> with_range({"value": 0.1357, "low": 0.0864, "high": 0.2076})
    '13.6 % (8.6 to 20.8)'
    """
    value, low, high = (
        None if estimate.get(key) is None else 100 * estimate[key]
        for key in ("value", "low", "high")
    )
    return units.estimate(value, low, high, "%", missing=NOT_ANSWERED)
