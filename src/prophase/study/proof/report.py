"""A proof as a report that can be attached to a decision."""

from __future__ import annotations

import math

from prophase import units
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import (
    Chart,
    DataUsed,
    Fact,
    NextStep,
    Provenance,
    Result,
    Section,
    Table,
    Tone,
)
from prophase.sizing.exports import engine_of
from prophase.sizing.resources import RESOURCES
from prophase.stats import Estimate
from prophase.study.proof.proof import Proof
from prophase.study.proof.prover import NO_CLUSTER
from prophase.study.proof.verdict import in_brackets

#: how a verdict is marked
TONES: dict[str, Tone] = {"pass": "good", "fail": "bad", "undecided": "warning"}
_SHOWN_TASKS = 30
#: replayed waits this near to the recorded ones are the same
_NEAR = 0.1
#: resource -> how a run ends that is killed for it
_KILLED = {"memory": "out of memory", "time": "at their time limit"}


def proof_result(
    proof: Proof, *, data: DataUsed, command: str = "", advice_file: str = "", source: str = ""
) -> Result:
    """Return the report of a proof.

    Parameters
    ----------
    data : DataUsed
        The history it was made on.
    command : str
        How to get it again.
    advice_file : str
        What was proven, for the commands that apply it.
    source : str
        Where the history comes from, which says what its jobs ran on.
    """
    return Result(
        "prove",
        title="Is this recommendation safe to apply?",
        question=(
            f"What would have happened if {proof.advised_jobs:,} of {proof.jobs:,} jobs of this "
            f"history had requested the recommended {proof.resource} instead of their own?"
        ),
        answer=proof.verdict.sentence(),
        tone=TONES[proof.verdict.outcome],
        facts=proof_facts(proof),
        data=[data],
        method=_method(proof),
        sections=proof_sections(proof),
        valid_for=[
            "the tasks named here, run on inputs like those of the history, under the policy and "
            "on the cluster of the replay"
        ],
        not_valid_for=_not_valid(proof),
        limits=_limits(proof),
        tables=[Table("proof", proof.rows())],
        notes=_notes(proof),
        values={"history": data.name, "data_hash": data.data_hash, **proof.to_dict()},
        next_steps=_steps(proof, advice_file, source),
        provenance=Provenance(
            command, seeds={"replays": proof.settings["seed"]},
            settings=proof.settings,
        ) if command else None,
    )  # fmt: skip


def proof_facts(proof: Proof) -> list[Fact]:
    """Return the numbers at the top."""
    first = proof.totals[0]
    found = [
        _percent("saved", f"of {first.name} saved", first.saved),
        _percent("killed", "killed at the first request", proof.oom),
    ]
    if proof.splits is not None and proof.splits.oom is not None:
        label = "of later runs killed at the first request"
        found.append(_percent("killed_later", label, proof.splits.oom))
    found += [
        Fact("cost_saved", "cost saved", one.today - one.advised, one.unit)
        for one in proof.totals
        if one.name == "cost"
    ]
    wait = proof.replays.of("mean_wait_s") if proof.replays else None
    if wait is not None:
        found.append(Fact("mean_wait_change", "change of the mean wait", wait.change, "s"))
    if proof.splits is not None and proof.splits.told:
        near = f"{proof.splits.near} of {proof.splits.told}"
        found.append(Fact("kept", "back-test within 5 points, cut-off dates", near))
    return found


def proof_sections(proof: Proof) -> list[Section]:
    """Return the parts of the result, also for reports that hold more than a proof."""
    found = [_hours(proof), _kept(proof), _waits(proof), _tasks(proof)]
    return [one for one in found if one is not None]


def _hours(proof: Proof) -> Section:
    rows = [
        {
            "what": one.name, "unit": one.unit, "today": one.today, "advised": one.advised,
            **one.saved.scaled(100).columns("saved_pct"),
        }
        for one in proof.totals
    ]  # fmt: skip
    first = proof.totals[0]
    text = [
        f"The history reserves {first.today:,.0f} {first.unit} today and would reserve "
        f"{first.advised:,.0f} with the recommendation, retries included.",
        f"{100 * proof.oom.value:.2f} % of the runs with a recommendation would be killed at "
        f"their first request and retried: {proof.retries:,} retries in all. "
        + (
            f"Today {100 * proof.oom_today.value:.2f} % of all runs end {_KILLED[proof.resource]}."
            if math.isfinite(proof.oom_today.value)
            else "The trace does not say how many are killed today."
        ),
    ]
    chart = Chart(
        "hours", f"What is reserved, in {first.unit}", "bars",
        [
            {"requests": "today", "hours": first.today},
            {"requests": "recommended", "hours": first.advised},
        ],
        x="requests", y=["hours"], unit=first.unit,
    )  # fmt: skip
    table = Table("saved", rows, "Both sides, with 95 % intervals")
    return Section.told("saved", "What is saved", text, [table], [chart])


def _kept(proof: Proof) -> Section | None:
    if proof.splits is None:
        return None
    rows = [
        {
            "split": one.split, "learnt_jobs": one.learnt_jobs, "later_jobs": one.later_jobs,
            "reached_jobs": one.reached_jobs, "predicted_pct": one.predicted_pct,
            "held_out_pct": one.held_out_pct, "error_points": one.error_points,
            "predicted_of_reached_pct": one.predicted_of_reached_pct,
            "held_out_of_reached_pct": one.held_out_of_reached_pct,
            "oom_pct": one.oom_pct,
        }
        for one in proof.splits.splits
    ]  # fmt: skip
    text = [
        "At each cut-off date a recommendation was made from the jobs that had ended by then, and "
        "its predicted saving was compared with what all later jobs saved.",
        proof.splits.sentence(),
    ]
    if proof.splits.saving is not None and proof.splits.oom is not None:
        saving, oom = proof.splits.saving, proof.splits.oom
        text.append(
            "Followed from date to date, runs with a recommendation would have reserved "
            f"{100 * saving.value:.1f} %{in_brackets(saving)} less; kills at the first request "
            f"{100 * oom.value:.2f} %{in_brackets(oom, 2)}."
        )
    chart = Chart(
        "kept", "Predicted saving and saving of later jobs, by cut-off date", "points",
        [row for row in rows if row["reached_jobs"]],
        x="predicted_pct", y=["held_out_pct"], unit="saving of later jobs, %",
        x_title="predicted saving, %",
        caption="On the diagonal the prediction was right; below it less was saved than predicted.",
    )  # fmt: skip
    table = Table(
        "kept",
        rows,
        "Cut-off dates; percentages of what later jobs reserve, and of what those with a "
        "recommendation reserve",
    )
    charts = [chart] if proof.splits.told else []
    return Section.told("kept", "Were predictions right?", text, [table], charts)


def _waits(proof: Proof) -> Section:
    title = "What it does to waiting times"
    if proof.replays is None:
        return Section.told("waits", title, [f"Unknown: {proof.why_no_replay}."])
    rows = [
        {
            "measure": one.measure, "of": one.of, "jobs": one.jobs, "today": one.today,
            "advised": one.advised, **one.change.columns("change"),
        }
        for one in proof.replays.changes
    ]  # fmt: skip
    means = [row for row in rows if row["measure"] == "mean_wait_s"]
    chart = Chart(
        "waits", "Mean wait by class of jobs", "bars", means, x="of", y=["today", "advised"],
        unit="mean wait, s",
    )  # fmt: skip
    text = [
        f"Both sides were replayed on the same cluster with the same {proof.replays.jobs:,} jobs, "
        f"as recorded and on {counted(proof.replays.seeds, 'trace')} with resampled days, from "
        "which the intervals of changes come.",
        *proof.replays.notes,
    ]
    table = Table("waits", rows, "Waits in seconds, shares in percent")
    sides = _recorded_and_replayed(proof)
    return Section.told(
        "waits", title, [*text, *compared_waits(proof.to_dict())], [*sides, table], [chart]
    )


def _recorded_and_replayed(proof: Proof) -> list[Table]:
    """Return the mean wait of the trace beside that of the replays."""
    replays = proof.replays
    wait = replays.of("mean_wait_s") if replays else None
    if replays is None or wait is None or replays.recorded_wait_s is None:
        return []
    rows = [
        {
            "mean wait": "recorded in the trace",
            "wait_s": replays.recorded_wait_s,
            "jobs": replays.recorded_jobs,
        },
        {
            "mean wait": "replayed, requests as they were",
            "wait_s": wait.today,
            "jobs": replays.jobs,
        },
        {
            "mean wait": "replayed, recommended requests",
            "wait_s": wait.advised,
            "jobs": replays.jobs,
        },
    ]
    return [Table("recorded", rows, "Recorded and replayed, in seconds")]


def compared_waits(proof: JsonMapping) -> list[str]:
    """Say how far the replay is from what the trace recorded, and why.

    Examples
    --------
    >>> changes = [{"measure": "mean_wait_s", "of": "all jobs", "today": 1800.0}]
    >>> told = {"replays": {"changes": changes, "recorded_wait_s": 1200.0}, "left_out": {}}
    >>> compared_waits(told | {"settings": {"policy": {"order": "fifo"}}})[0].split("; ")[1]
    'the replay of the same requests gives 30 min (1.5 times as long).'
    """
    replays = proof.get("replays") or {}
    recorded = replays.get("recorded_wait_s")
    rows = replays.get("changes", ())
    wait = next((r for r in rows if (r["measure"], r["of"]) == ("mean_wait_s", "all jobs")), None)
    if wait is None:
        return []
    if recorded is None:
        return ["The trace records no waits, so the replay cannot be compared with what happened."]
    said = (
        f"The trace recorded a mean wait of {units.duration(recorded)}; the replay of the same "
        f"requests gives {units.duration(wait['today'])}"
    )
    if recorded > 0 and abs(wait["today"] / recorded - 1) > _NEAR:
        said += f" ({wait['today'] / recorded:.2g} times as long)"
    policy = ", ".join(
        f"{k} {v}" for k, v in proof["settings"]["policy"].items() if isinstance(v, str)
    )
    missing = sum(proof["left_out"].get(key, 0) for key in ("no run time", "no duration_s"))
    gone = (
        f" {counted(missing, 'job')} without a run time held nodes, but are not in the replay."
        if missing
        else ""
    )
    return [
        f"{said}.",
        f"What differs: the replay starts with empty nodes, schedules by one rule ({policy}) and "
        "knows of no quotas, reservations, nodes that were down, or jobs that the trace lacks; "
        f"jobs of one group may start apart.{gone} Read the change, not the level.",
    ]


def _tasks(proof: Proof) -> Section:
    rows: list[JsonObject] = [one.to_dict() for one in proof.tasks[:_SHOWN_TASKS]]
    text = [f"{len(proof.tasks):,} tasks follow the recommendation; in {_saved_unit(proof)}."]
    if len(proof.tasks) > _SHOWN_TASKS:
        text.append(f"The {_SHOWN_TASKS} that save most are shown; the JSON has all.")
    if proof.losers:
        named = ", ".join(
            f"{one.task} ({one.saved_h:,.1f} {_saved_unit(proof)})" for one in proof.losers
        )
        text.append(f"Lose more than they save on this history: {named}.")
    table = Table("tasks", rows, "Tasks that change their request")
    return Section.told("tasks", "Task by task", text, [table])


def _notes(proof: Proof) -> list[str]:
    said = [
        f"{proof.advised_jobs:,} of {proof.jobs:,} jobs follow the recommendation; "
        f"{100 * proof.saving.value:.1f} % of the {proof.totals[0].name} saved, "
        f"{finite(100 * proof.predicted) or 0:.1f} % predicted; {proof.retries:,} retries.",
    ]
    if "grouped_by" in proof.settings:
        said.append(f"Grouped by {proof.settings['grouped_by']}; --by changes it.")
    if proof.splits is not None:
        said.append(proof.splits.sentence())
    if proof.replays is None:
        hint = " Use --cluster." if proof.why_no_replay == NO_CLUSTER else ""
        said.append(f"No waits: {proof.why_no_replay}.{hint}")
    else:
        said += proof.replays.notes
    if proof.losers:
        named = ", ".join(f"{one.task} ({one.saved_h:,.2f})" for one in proof.losers[:5])
        more = f" and {len(proof.losers) - 5} more" if len(proof.losers) > 5 else ""
        said.append(f"Recommendations that lose, in {_saved_unit(proof)}: {named}{more}.")
    if proof.unknown_tasks:
        some = proof.unknown_tasks
        more = f" and {len(some) - 5} more" if len(some) > 5 else ""
        said.append(f"Recommended, but not in this history: {', '.join(some[:5])}{more}.")
    if not proof.advised_jobs:
        kept = [f"{task} ({why.removeprefix('keep: ')})" for task, why in proof.kept_tasks.items()]
        more = f"; and {len(kept) - 3} more" if len(kept) > 3 else ""
        said.append(f"Nothing is recommended for this history: {'; '.join(kept[:3])}{more}.")
    said += [
        f"Without a recommendation, {why}: {counted(count, 'job')}."
        for why, count in proof.left_out.items()
    ]
    return [*said, "", proof.verdict.sentence()]


def _method(proof: Proof) -> list[str]:
    share = proof.settings["fails_after"]
    killed = (
        "An attempt whose limit is below the job's run time runs until its limit, is killed, and "
        "begins again with the next limit of the ladder: the 2nd, the 3rd, then twice as long each "
        "time. Backfilling plans with the limits; a job without one is planned with the longest "
        "of the history, one that is killed with the limit that holds."
        if proof.resource == "time"
        else "An attempt that asks for less than the job's measured peak is killed after "
        f"{share:.0%} of its run and climbs the ladder: 2nd request, 3rd, then twice as much each "
        "time."
    )
    return [
        "Every job of the history runs twice: with the request it had, and with the recommended "
        f"one. {killed}",
        "Hours are summed job by job, and the replay on the cluster uses the same ladder, so "
        "both give the same sums. Jobs whose need is not known keep their request on both sides.",
        "95 % intervals compare days (weeks from ten weeks on), because jobs of a day resemble "
        "each other: savings by the jackknife with Student's t, kills by Clopper-Pearson with as "
        "many runs as they count for when kills come together, changes of waits from resampled "
        "traces that both sides share. Below three days, or eight resampled traces, there is no "
        "interval.",
        "A limit counts as met only if its whole interval is on the right side; otherwise it is "
        "undecided.",
    ]


def _not_valid(proof: Proof) -> list[str]:
    said = ["tasks that are not in the history, and tasks whose code or inputs change"]
    if proof.resource not in _KILLED:
        said.append(
            f"how much slower jobs get with less {proof.resource}: run times are assumed unchanged"
        )
    return said


def _limits(proof: Proof) -> list[str]:
    said = [
        "The log may lack jobs that the cluster ran; waits are then shorter than they were."
        if proof.resource == "time"
        else "Peaks are those that monitoring saw; a spike between two samples is not in them.",
        "If the recommendation was learnt from this same history, its saving there is too "
        "optimistic; that of the back-test is not.",
    ]
    if proof.unknown_tasks:
        said.append(
            "These tasks of the recommendation are not in the history: "
            f"{', '.join(proof.unknown_tasks[:20])}."
        )
    said += [
        f"{counted(count, 'job')} can follow no recommendation: {why}."
        for why, count in proof.left_out.items()
    ]
    return said


def _steps(proof: Proof, advice_file: str, source: str) -> list[NextStep]:
    again = "prophase size HISTORY --risk 0.5% --export json > recommendation.json"
    if proof.verdict.outcome == "undecided":
        words = (
            "It is not shown to be safe yet. Prove it again when more runs have ended, or use "
            "a smaller risk:"
        )
        return [NextStep(words, again)]
    if proof.verdict.outcome == "fail":
        words = "Do not apply it unchanged. Use a smaller risk, or leave the losing tasks out:"
        return [NextStep(words, again)]
    what = "" if proof.resource == "memory" else f" --resource {proof.resource}"
    export = f"prophase size HISTORY{what} --export {engine_of(source)}"
    keep = f"prophase ledger add {advice_file or 'recommendation.json'} --workspace HISTORY"
    return [
        NextStep("Export it for your system:", export),
        NextStep("Keep it in the ledger, to compare it later with what happens:", keep),
    ]


def _saved_unit(proof: Proof) -> str:
    return RESOURCES[proof.resource].saved_unit


def _percent(key: str, label: str, found: Estimate) -> Fact:
    return Fact(key, label, found.scaled(100), "%")
