"""The report of the demo: the study's findings as one story, with the way to the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prophase import units
from prophase.json_types import JsonObject
from prophase.plural import as_typed, counted
from prophase.result import NextStep, Picture, Result, Section, Table
from prophase.trace.workspace_paths import PHASES

if TYPE_CHECKING:
    import pandas as pd

    from prophase.study.pipeline import StudyResult


#: sections that are left to the study's own report: a newcomer asks for them last
_LEFT_OUT = ("tasks", "published", "scores", "next")


def demo_result(found: StudyResult, phases: Section | None, folder: Path, command: str) -> Result:
    """Return the study's report as a story, with steps to the user's own data."""
    from prophase.study.study_findings import in_order

    report = found.report
    known = [*report.all_sections(), *([phases] if phases is not None else [])]
    assert report.provenance is not None
    return replace(
        report,
        title="A cluster, its waste, and a recommendation put to the proof",
        question="Can this cluster ask for less and make its jobs wait less, and how sure is that? "
        "A synthetic GPU cluster like Alibaba's PAI; the same commands answer for your own jobs.",
        answer=_answer(found) or report.answer,
        data=[replace(one, kind="synthetic") for one in report.data],
        sections=[one for one in in_order(known) if one.key not in _LEFT_OUT],
        limits=[
            "The jobs are synthetic: their shape follows published figures of Alibaba's PAI, but "
            "no number here is about a real cluster.",
            "When jobs started is itself simulated: first come, first served on these nodes, so "
            "that jobs and nodes fit each other. The replay follows the same rule; on a real "
            "cluster recorded and replayed waits differ more.",
            "Intervals are about this history. Another seed (--seed) makes another history, whose "
            "saving and waits may lie outside of them.",
            "GPU shares are sized by mean use: a job whose use comes in bursts may be slowed "
            "down beside others although its mean fits.",
            *report.limits,
        ],
        next_steps=_steps(found, folder),
        provenance=replace(report.provenance, command=command),
    )


def _answer(found: StudyResult) -> str:
    """Say in a few sentences what the recommendation would do, and whether it may be applied."""
    from prophase.study.study_answers import from_to, mean_wait, second_tries, with_range

    proof = found.results.get("proof")
    if not proof:
        return ""
    said = [
        f"If {proof['advised_jobs']:,} of {proof['jobs']:,} jobs had asked for about the GPUs they "
        f"use, {with_range(proof['saving'])} of all GPU-hours would have been free for others."
    ]
    wait = mean_wait(proof)
    if wait is not None:
        low, high = wait.get("change_low"), wait.get("change_high")
        span = "" if low is None or high is None else f" (change: {from_to(low, high)})"
        change = from_to(wait["today"], wait["advised"])
        said.append(f"The mean wait would have gone from {change}{span}.")
    short, of = second_tries(proof)
    said.append(f"{with_range(short)} of {of} need a second try. {limits_held(found)}")
    return " ".join(said)


def limits_held(found: StudyResult) -> str:
    """Say whether the recommendation keeps to the limits of the demo."""
    proof = found.results.get("proof")
    if not proof:
        return "No recommendation was put to the proof."
    limits = (
        f"at least {units.percent(proof['limits']['min_saving'])} saved, at most "
        f"{units.percent(proof['limits']['max_oom'])} second tries"
    )
    failed = [check["words"] for check in proof["verdict"]["checks"] if not check["holds"]]
    if failed:
        return f"The limits ({limits}) do not all hold: {'; '.join(failed)}."
    return f"The limits hold: {limits}. Ranges are 95 % intervals."


def _steps(found: StudyResult, folder: Path) -> list[NextStep]:
    """Return what to type next: own data, the dashboard, the recommendation."""
    place = as_typed(folder)
    proof: JsonObject = found.results.get("proof", {})
    task = next((one["task"] for one in proof.get("tasks", ())), "TASK")
    return [
        NextStep("Study your own history: CSV, Slurm, Kubernetes, Nextflow and many public traces.",
             "prophase import list\nprophase study my-trace.csv --cluster nodes.csv"),
        NextStep("Look at this workspace in a browser.", f"prophase serve {place} --open"),
        NextStep("See the history, the distribution and the ladder behind one recommendation.",
             f"prophase size {place} --resource gpu --explain {as_typed(task)}"),
        NextStep("Write the recommendations in the form your system reads.",
             f"prophase size {place} --resource gpu --export kubernetes"),
    ]  # fmt: skip


#: two services with three phases each
_PHASES, _WINDOW = 6, 5


def phase_section(usage: pd.DataFrame, folder: Path, seed: int) -> Section:
    """Find the phases of the containers, keep the model, and tell of one container."""
    from prophase.phase.detector import PhaseDetector
    from prophase.plain import finite
    from prophase.plots.phase_series import plot_series

    detector = PhaseDetector(n_phases=_PHASES, window=_WINDOW, random_state=seed).fit(usage)
    target = folder / PHASES
    detector.save(target)
    labelled = detector.label(usage)
    first = str(usage["series_id"].iloc[0])
    one = usage[usage["series_id"] == first]
    phases = labelled.loc[labelled["series_id"] == first, "phase"].to_numpy(int)
    metrics = [name for name in detector.metrics_ if name in one]
    seen = one[: len(phases)]
    figure = plot_series(
        seen[metrics].to_numpy(float),
        phases=[phases],
        names=metrics,
        time_s=seen["time_s"].to_numpy(float),
    )
    told = ["phase", "metric", "share_pct", "mean", "q05", "q95"]
    rows = finite(detector.statistics_[told].to_dict("records"))
    containers = usage["series_id"].nunique()
    return Section.told(
        "phases",
        "What jobs do while they run",
        [
            f"{counted(containers, 'container')} go through {detector.n_phases_} recurring "
            "phases. A phase says what is used now and what comes next, so that an allocation can "
            "change before the use does.",
        ],
        [Table("phases", rows, "What is used in each phase", folded=True)],
        [Picture("phases", figure, f"Container {first}: its phases above what it uses.")],
    )
