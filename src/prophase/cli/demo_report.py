"""The report of the demo: the study's findings, told as one story with a few strong figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prophase.cli.output import as_typed

if TYPE_CHECKING:
    from prophase.study.loop.running import StudyResult
    from prophase.study.report import Chart, Finding, Measure, Report, Step

_SHOWN = 10
#: findings in the order in which a newcomer asks; those of the study that are not named here
#: are left to its own report
_STORY = (
    "Where the waste is",
    "What to change",
    "What is saved",
    "Were predictions kept?",
    "What it does to waiting times",
    "Every policy on the same jobs",
    "What will a job need?",
    "What jobs do while they run",
    "Which kinds of job there are",
    "What could not be done",
    "Is the trace sound?",
)
#: columns of an advice that a first reader needs
_ADVISED = ("task", "runs", "now", "advice", "saving_pct", "why")


def demo_report(found: StudyResult, phases: Finding | None, folder: Path, command: str) -> Report:
    """Return the study's report as a story, with steps to the user's own data."""
    report = found.report
    known = [*report.findings, *([phases] if phases is not None else [])]
    told = {finding.title: _retold(finding) for finding in known}
    assert report.reproduce is not None
    return replace(
        report,
        title="A cluster, its waste, and an advice put to the proof",
        question="Can this cluster ask for less and make its jobs wait less, and how sure is that? "
        "A synthetic GPU cluster like Alibaba's PAI; the same commands answer for your own jobs.",
        answer=_answer(found) or report.answer,
        facts=_facts(found) or report.facts,
        data=[replace(one, kind="synthetic") for one in report.data],
        findings=[told[title] for title in _STORY if title in told],
        limits=[
            "The jobs are synthetic: their shape follows published figures of Alibaba's PAI, but "
            "no number here is about a real cluster.",
            "GPU shares are sized by mean use: a job whose use comes in bursts may be slowed "
            "down beside others although its mean fits.",
            *report.limits,
        ],
        apply=_steps(folder),
        reproduce=replace(report.reproduce, command=command),
    )


def _answer(found: StudyResult) -> str:
    """Say in a few sentences what an advice would do, and how sure that is."""
    proof = found.results.get("proof")
    if not proof:
        return ""
    saving, checks = proof["saving"], proof["verdict"]["checks"]
    said = [
        f"If {proof['advised_jobs']:,} of {proof['jobs']:,} jobs had asked for the GPUs they use, "
        f"{_percent(saving)} of all GPU-hours would have been free for others."
    ]
    wait = _wait(proof)
    if wait is not None:
        said.append(
            f"The mean wait would have gone from {wait['today']:,.0f} to {wait['advised']:,.0f} s "
            f"(95 % interval of the change: {wait['change_low']:,.0f} to "
            f"{wait['change_high']:,.0f} s)."
        )
    words, short = _second_tries(proof)
    said.append(f"{_percent(short, digits=1)} {words}.")
    failed = [check["words"] for check in checks if not check["holds"]]
    if failed:
        said.append(f"The limits do not all hold: {'; '.join(failed)}.")
    else:
        said.append("All limits that were set hold.")
    return " ".join(said)


def _facts(found: StudyResult) -> list[Measure]:
    """Return the six numbers that the story is about."""
    from prophase.study.report import Measure

    facts = [fact for fact in found.report.facts if fact.name == "jobs"]
    described = found.results.get("describe", {})
    used = {row["resource"]: row["used_pct"] for row in described.get("used", ())}
    for resource in ("GPU, mean use", "memory, peak use"):
        if resource in used:
            words = resource.split(",")[0]
            facts.append(Measure(f"of the {words} asked for is used", used[resource], "%"))
    proof = found.results.get("proof")
    if proof:
        for words, found_share in (
            ("of GPU-hours saved by the advice", proof["saving"]),
            _second_tries(proof),
        ):
            value, low, high = (_hundred(found_share[end]) for end in ("value", "low", "high"))
            facts.append(Measure(words, value, "%", low, high))
    rows = found.results.get("predictions", {}).get("rows", [])
    if rows and rows[0].get("within_x2_pct") is not None:
        facts.append(
            Measure("of run times known within a factor of two", rows[0]["within_x2_pct"], "%")
        )
    return facts


def _second_tries(proof: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the share of jobs that ask for too little at first: of later jobs, if there are any.

    What an advice does to the jobs it was made of flatters it.
    """
    later = (proof.get("splits") or {}).get("held_out_oom")
    if later and later.get("value") is not None:
        return "of later jobs with an advice made before need a second try", later
    return "of the jobs that the advice was made of need a second try", proof["oom"]


def _wait(proof: dict[str, Any]) -> dict[str, Any] | None:
    changes = (proof.get("replays") or {}).get("changes", [])
    for row in changes:
        if row["measure"] == "mean_wait_s" and row["of"] == "all jobs":
            return row if row.get("change_low") is not None else None
    return None


def _steps(folder: Path) -> list[Step]:
    """Return what to type next: own data, the dashboard, the advice."""
    from prophase.study.report import Step

    place = as_typed(folder)
    return [
        Step("Study your own history: CSV, Slurm, Kubernetes, Nextflow and many public traces.",
             "prophase import list\nprophase study my-trace.csv --cluster nodes.csv"),
        Step("Look at this workspace in a browser.",
             f"prophase learn {place}\nprophase serve {place}"),
        Step("See the history, the distribution and the ladder behind one advice.",
             f"prophase size {place} --resource gpu --explain TASK"),
        Step("Write the advice in the form your system reads.",
             f"prophase size {place} --resource gpu --export kubernetes"),
    ]  # fmt: skip


def _retold(finding: Finding) -> Finding:
    """Return a finding with a figure where a table alone would bury its point."""
    rows = [dict(row) for table in finding.tables[:1] for row in table.rows]
    if not rows:
        return finding
    if finding.title == "What to change":
        shown = [{key: row.get(key) for key in _ADVISED if key in row} for row in rows[:_SHOWN]]
        text = [
            "Tasks come back, and what their earlier runs used tells what the next ones need. "
            "Each advice covers all but about 1 % of the runs seen, and has a ladder for those.",
            "The whole advice is in reports/study/advice.json of the workspace.",
        ]
        tables = [replace(finding.tables[0], rows=shown), *finding.tables[1:]]
        return replace(finding, text=text, tables=tables, charts=[_advice_chart(shown)])
    if finding.title == "What is saved":
        # the resource that was sized is in the first row; its usual name would say it twice
        kept = [row for row in rows[1:] if str(row["what"]).lower() != str(rows[0]["what"]).lower()]
        table = replace(finding.tables[0], rows=[rows[0], *kept])
        return replace(finding, text=finding.text[:1], tables=[table, *finding.tables[1:]])
    if finding.title == "Every policy on the same jobs":
        text = [
            "The same later jobs on the same nodes under other rules. A range that holds zero says "
            "that this trace is too short to tell the difference. 'True run times' is what no "
            "scheduler knows: the most that predictions could gain."
        ]
        return replace(finding, text=text, charts=[_policy_chart(rows)])
    if finding.title == "What will a job need?":
        return replace(finding, charts=[*finding.charts, *_prediction_charts(rows)])
    return finding


def _advice_chart(rows: list[dict[str, Any]]) -> Chart:
    from prophase.study.report import Chart

    drawn = [
        {"task": row["task"], "asks now": row["now"], "should ask": row["advice"]} for row in rows
    ]
    return Chart(
        "advice", "What tasks ask for, and what they should", "bars", drawn, x="task",
        y=["asks now", "should ask"], unit="GPUs",
        caption="The tasks that save most, in GPU-hours a month.",
    )  # fmt: skip


def _policy_chart(rows: list[dict[str, Any]]) -> Chart:
    from prophase.study.report import Chart

    drawn = [row for row in rows if row.get("change_pct") is not None]
    return Chart(
        "policies", "What other rules do to completion times", "intervals", drawn, x="policy",
        y=["change_pct"], unit="change of the mean completion time, %", reference=0.0,
        caption="Against first come, first served; left of the line jobs are done earlier. "
        "95 % intervals.",
    )  # fmt: skip


def _prediction_charts(rows: list[dict[str, Any]]) -> list[Chart]:
    from prophase.study.report import Chart

    durations = [
        {"method": row["method"], "within a factor of two": row["within_x2_pct"]}
        for row in rows
        if row.get("target") == "duration_s" and row.get("within_x2_pct") is not None
    ]
    if not durations:
        return []
    return [
        Chart(
            "predictions", "Run times known before a job starts", "bars", durations, x="method",
            y=["within a factor of two"], unit="% of later jobs within a factor of two",
            caption="'default' learns; the medians only look up. All answer from what had ended "
            "before the job was submitted.",
        )
    ]  # fmt: skip


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _percent(estimate: dict[str, Any], digits: int = 0) -> str:
    low, high = _hundred(estimate["low"]), _hundred(estimate["high"])
    said = f"{_hundred(estimate['value']):.{digits}f} %"
    if low is None or high is None:
        return said
    return f"{said} ({low:.{digits}f} to {high:.{digits}f} %)"
