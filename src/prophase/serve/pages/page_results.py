"""The results that pages show: each is what a command answers, computed in a process of its own.

Pages compute nothing themselves. A function takes the folder of the workspace, arguments that a
route has checked, and ``progress(step, percent)``; it returns what the command named beside it
writes with ``--format json``, and the facts and notes that stand around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ProphaseError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.result import Result
from prophase.stats import Estimate
from prophase.trace.describe.trace_clock import FIRST_DATE_S
from prophase.trace.trace_tables import open_trace
from prophase.trace.workspace_paths import CLASSIFIER, PHASES, PROFILES

if TYPE_CHECKING:
    from prophase.phase.detector import PhaseDetector

Progress = Callable[[str, float | None], None]

#: tasks of the sizing page, those that save most, and how many of them are explained
_MOST_TASKS, _EXPLAINED = 2_000, 300
#: points of a line, and series that allocations are learnt from
_POINTS, _LEARNT = 360, 40
#: policies that the simulator page compares with today's
POLICIES = ("fifo:best_fit:strict", "fifo:first_fit:skip", "smallest_gpu_time", "shortest")
_TODAY: JsonObject = {
    "order": "fifo",
    "place": "best_fit",
    "queue": "skip",
    "estimate": "time_limit_s",
}


def shown(result: Result) -> JsonObject:
    """Return a result as pages keep it: values as JSON has them, facts by key, notes."""
    facts = {
        fact.key: fact.value.to_dict() if isinstance(fact.value, Estimate) else fact.value
        for fact in result.facts
    }
    kept: JsonObject = finite(
        {"values": result.values, "facts": facts, "notes": list(result.notes)}
    )
    return kept


def describe(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase describe WORKSPACE --no-laws``."""
    from prophase.trace.describe.description import describe
    from prophase.trace.describe.description_result import description_result

    progress("reading the tables", 5)
    trace = open_trace(folder)
    progress("describing them", 30)
    return shown(description_result(describe(trace, laws=False)))


def size(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase size WORKSPACE``, and ``--explain TASK`` for the tasks that save most."""
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import Gate, recommend, shown_names
    from prophase.sizing.recommendation_result import explained_values, recommendation_result

    progress("reading the jobs", 2)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    parts = parts_given(trace.jobs, trace.tables.get("nodes"))
    found = recommend(
        trace.jobs,
        risk=float(asked["risk"]) / 100,
        gate=Gate(least_saving=float(asked["least"]) / 100, gpu_parts=parts),
        resource=asked["resource"],
        data_hash=trace.data_hash,
        show=lambda percent: progress("back-testing recommendations", percent),
    )
    told = shown(recommendation_result(found, source=trace.source))
    told["values"]["tasks"] = told["values"]["tasks"][:_MOST_TASKS]
    for row, one in zip(told["values"]["tasks"], found.tasks, strict=False):
        row["keep"] = one.keep
    named = list(zip(shown_names(found), found.tasks, strict=True))
    # those that save most, and those that run most
    often = sorted(named, key=lambda pair: -pair[1].runs)[:_EXPLAINED]
    explained = dict([*named[:_EXPLAINED], *often])
    values = {name: explained_values(one, found.unit) for name, one in explained.items()}
    return told | {"explained": values}


def policies(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase whatif WORKSPACE --policy ... --leave-out-unfit``."""
    from prophase.sim import Workload
    from prophase.sim.results import cluster_of
    from prophase.sim.whatif.result import what_if
    from prophase.sim.whatif.scenarios import WhatIfQuestion

    progress("reading the trace", None)
    trace = open_trace(folder)
    cluster = cluster_of(trace, asked.get("cluster"), where=folder.name)
    question = WhatIfQuestion(policies=POLICIES)
    workload = Workload.from_jobs(trace.jobs)
    result = what_if(workload, cluster, question, _TODAY, leave_out_unfit=True, progress=progress)
    return shown(result)


def why(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase why WORKSPACE --leave-out-unfit``."""
    from prophase.sim import Workload
    from prophase.sim.results import cluster_of
    from prophase.sim.why.explanation import why
    from prophase.sim.why.result import why_result

    progress("reading the trace", None)
    trace = open_trace(folder)
    found = why(
        Workload.from_jobs(trace.jobs),
        cluster_of(trace, asked.get("cluster"), where=folder.name),
        clock=trace.clock,
        leave_out_unfit=True,
        progress=progress,
        **_TODAY,
    )
    return shown(why_result(found))


def phases(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase phase show WORKSPACE`` and ``prophase phase label WORKSPACE WORKSPACE``."""
    from prophase.phase.phase_result import labels_result, phases_result

    progress("reading the series", 10)
    usage = open_trace(folder, tables=["usage"]).usage
    detector = _detector(folder)
    if detector is None:
        names = usage["series_id"].astype(str).unique().tolist()
        return {"model": None, "labels": None, "series": names}
    progress("labelling the series", 40)
    labels = labels_result(detector, usage, detector.label(usage))
    return {"model": shown(phases_result(detector)), "labels": shown(labels), "series": []}


def series(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """One series: its samples, their phases, what follows, and what policies would allocate."""
    progress("reading the series", 5)
    usage = open_trace(folder, tables=["usage"]).usage
    name = asked["series"]
    own = usage[usage["series_id"].astype(str) == name].sort_values("time_s")
    if own.empty:
        raise InputError(f"there is no series {name!r} in the usage table.")
    seen = own.iloc[:: max(len(own) // _POINTS, 1)]
    # dates where the series has them, else the time since its first sample
    dated = bool(own["time_s"].iloc[0] >= FIRST_DATE_S)
    told: JsonObject = {
        "samples": len(own),
        "time_s": (seen["time_s"] - (0.0 if dated else own["time_s"].iloc[0])).tolist(),
        "step_s": float(own["time_s"].diff().median()) if len(own) > 1 else None,
        "metrics": {metric: seen[metric].tolist() for metric in _metrics(usage)},
    }
    detector = _detector(folder)
    if detector is not None:
        progress("labelling it", 20)
        labels = detector.label(own).set_index("time_s")["phase"]
        now = int(labels.iloc[-1])
        told |= {
            "phases": labels.reindex(seen["time_s"]).fillna(-1).astype(int).tolist(),
            "n_phases": detector.n_phases_,
            "now": now,
            "ahead": detector.next_.forecast(now) if now >= 0 else None,
        }
    found: JsonObject = finite(told | {"allocation": _allocation(usage, name, progress)})
    return found


def _allocation(usage: pd.DataFrame, name: str, progress: Progress) -> JsonObject:
    """``prophase autoscale --train OTHERS --test THIS --policies phase-relative``."""
    from prophase.autoscale.comparison_result import comparison_result
    from prophase.autoscale.fleet import fleet_of
    from prophase.autoscale.objective import usual_objective
    from prophase.autoscale.policy_comparison import compare

    try:
        whole, notes = fleet_of(usage, None, every=5)
        others = [one for one in whole.series if one != name]
        if len(others) < 2 or name not in whole.series:
            return {"missing": "fewer than two other long series to learn from"}
        chosen = np.random.default_rng(0).permutation(others)[:_LEARNT].tolist()
        learnt = whole.only(chosen)
        found = compare(
            learnt,
            whole.only([name]),
            target=usual_objective(learnt),
            policies=["phase-relative"],
            progress=lambda policy: progress(f"allocating by {policy}", None),
        )
    except ProphaseError as error:
        return {"missing": str(error)}
    test = found.test
    run = int(np.argmax(test.lengths))
    inside = slice(int(test.run_start[run]), int(test.run_start[run] + test.lengths[run]))
    every = max(int(test.lengths[run]) // _POINTS, 1)
    return {
        **shown(comparison_result(found, notes)),
        "learnt_from": len(found.fit.series),
        "time_s": _clock_of(usage, name, int(test.lengths[run]), test.step_s)[::every].tolist(),
        "use": test.use[inside][::every].tolist(),
        "given": {
            one.policy: test.per_sample(one.allocation)[inside][::every].tolist()
            for one in found.judged
        },
    }


def _clock_of(usage: pd.DataFrame, name: str, samples: int, step_s: float) -> NDArray[np.float64]:
    """Return when a series was sampled, from its start; steps differ between series."""
    times = np.sort(usage.loc[usage["series_id"] == name, "time_s"].to_numpy(float))
    usual = float(np.median(np.diff(times))) if len(times) > 1 else step_s
    return np.arange(samples, dtype=np.float64) * np.float64(
        usual if len(times) == samples else step_s
    )


def profile_context(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """What single profiles are compared with."""
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profile_context import profile_context
    from prophase.profile.clusters.profiler import WorkloadProfiler

    progress("reading the jobs", 5)
    trace = open_trace(folder, tables=["jobs"])
    profiler = WorkloadProfiler.load(folder / PROFILES)
    progress("looking at all jobs", 25)
    return profile_context(profiler, ended_jobs(trace.jobs).jobs, trace.clock)


def profile_reasons(folder: Path, asked: Mapping[str, str], progress: Progress) -> JsonObject:
    """``prophase profile explain --job TYPICAL --profile PROFILE``."""
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.classify.explanation import shap_of_job, typical_job
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler

    progress("reading the jobs", 10)
    jobs = ended_jobs(open_trace(folder, tables=["jobs"]).jobs).jobs
    same = WorkloadProfiler.load(folder / PROFILES).recognise(jobs)
    wanted = int(asked["profile"])
    own = same.jobs[np.asarray(same.labels) == wanted]
    progress("loading the classifier", 50)
    classifier = ProfileClassifier.load(folder / CLASSIFIER)
    if own.empty or wanted not in classifier.classes_:
        return {"missing": "The classifier has not learnt this profile: it has too few jobs."}
    progress("explaining a typical job", 75)
    found = shap_of_job(classifier, typical_job(own, classifier.columns_), wanted)
    told: JsonObject = finite(
        {"probability": found.probability, "pushes": found.pushes.to_dict("records")}
    )
    return told


def _detector(folder: Path) -> PhaseDetector | None:
    from prophase.phase.detector import PhaseDetector

    path = folder / PHASES
    return PhaseDetector.load(path) if path.is_file() else None


def _metrics(usage: pd.DataFrame) -> list[str]:
    """Return the columns of a usage table that hold measurements."""
    return [
        str(name)
        for name in usage
        if name not in ("series_id", "time_s")
        and pd.api.types.is_numeric_dtype(usage[name])
        and usage[name].notna().any()
    ]


#: view -> what computes it
VIEWS: dict[str, Callable[[Path, Mapping[str, str], Progress], JsonObject]] = {
    "describe": describe,
    "size": size,
    "policies": policies,
    "why": why,
    "phases": phases,
    "series": series,
    "profile-context": profile_context,
    "profile-reasons": profile_reasons,
}


def page_data(folder: Path, arguments: JsonObject, progress: Progress) -> JsonObject:
    """Compute the data of one view."""
    return VIEWS[arguments["view"]](folder, arguments["arguments"], progress)
