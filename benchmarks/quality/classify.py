"""How well does metadata tell a job's profile? Real and synthetic jobs, beside a baseline.

The baseline learns nothing: every job gets the most frequent profile. Every classifier is
scored on the same profiles and the same three splits; time is the one that counts. Where the
trace records what jobs asked for, profiles are in part made of that, and telling them by all
submit-time columns is easier than telling how a job behaves.

The paper's duration estimate, the profile's mean, is scored on the 999 published PAI rows:
learnt from what had ended before day 61.8, judged on the last 300, beside the median of all.

    python benchmarks/quality/classify.py [--jobs 20000] [--rows 12000]
    python benchmarks/quality/classify.py --alarms     of `prophase profile running`
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.classifier_comparison import compare_classifiers
from prophase.profile.classify.methods import BASELINE, METHODS
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.predict.evaluation import evaluate
from prophase.profile.running_jobs import completed, false_alarms
from prophase.trace.split import split_by_time
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
PAI = "pai/polaris_1_000_sampled_test_data.csv"
ESTIMATES = (
    "profile-mean",
    "profile-median",
    "profile-q05",
    "profile-interquartile-mean",
    "profile-iqr",
    "profile-skew-adaptive",
)
#: real traces that record use
REAL = {
    PAI: PAI,
    "mit-supercloud": "mit-supercloud",
    "drac-slurm": "drac-slurm",
}


def classifiers(jobs: pd.DataFrame, labels: Any, data: str, metadata: str) -> None:
    """Record accuracy and F1 of every classifier on every split."""
    found = compare_classifiers(jobs, labels, tuple(METHODS), metadata=metadata)
    for note in found.notes:
        print(" ", note)
    size = f"{len(found.columns)} columns became {found.size.dimension:,}"
    for split in found.sides:
        base = found.reports[BASELINE, split]
        for name in METHODS:
            report = found.reports[name, split]
            named = ", ".join(map(str, report.never_predicted)) or "none"
            record(
                Measurement(
                    f"accuracy, {name}, split by {split}, {metadata} metadata", "",
                    [report.accuracy], BASELINE, [base.accuracy], data,
                    f"weighted F1 {report.weighted_f1:.3f}, macro F1 {report.macro_f1:.3f}; never "
                    f"predicted: {named}; {size}",
                )
            )  # fmt: skip


def unknowns(jobs: pd.DataFrame, labels: Any, data: str) -> None:
    """Record what the line below which a job is unknown does to later jobs."""
    labelled = jobs.assign(attr_profile=labels)
    labelled = labelled[labelled["attr_profile"] != -1].reset_index(drop=True)
    split = split_by_time(labelled, test_share=0.2)
    train, test = labelled.iloc[split.train], labelled.iloc[split.test]
    made = ProfileClassifier(metadata="paper").fit(
        train.drop(columns="attr_profile"), train["attr_profile"]
    )
    told = made.assign(test)
    known = (told["profile"] != "unknown").to_numpy()
    right = (told["candidate"].to_numpy() == test["attr_profile"].to_numpy()).astype(float)
    record(
        Measurement(
            "accuracy above the line of unknown, xgboost, split by time", "",
            [float(right[known].mean()) if known.any() else float("nan")],
            "without the line", [float(right.mean())], data,
            f"{known.mean():.0%} of the jobs are above it. {made.threshold_.sentence()}",
        )
    )  # fmt: skip


def alarms(jobs: pd.DataFrame, data: str) -> None:
    """Record how often later jobs that complete are called unlike their profile."""
    split = split_by_time(jobs, test_share=0.25)
    train, test = (jobs.iloc[rows].reset_index(drop=True) for rows in (split.train, split.test))
    profiler = WorkloadProfiler(silhouette_rows=500).fit(train)
    made = ProfileClassifier().fit(train, profiler.labels_)
    both = [*completed(train).index, *(len(train) + completed(test).index)]
    done = pd.concat([train, test], ignore_index=True).loc[both]
    later = false_alarms(done, profiler.profiles_, made)
    record(
        Measurement(
            "running jobs: completed ones that are named, later than all that was learnt", "%",
            [100 * later.value], data=data,
            remark=f"{later.n:,} jobs; 95 % CI {100 * later.low:.1f} to {100 * later.high:.1f}; "
            f"{later.reason}",
        )
    )  # fmt: skip


def estimates() -> None:
    """Record the paper's estimate and its successor's on the published rows."""
    jobs = open_trace(DATA / PAI).jobs.sort_values("start_s", kind="stable")
    test = jobs.iloc[-300:]
    earlier = jobs.iloc[:-300]
    train = earlier[earlier["end_s"] < 61.8 * 86_400]
    for online in (False, True):
        found = evaluate(train, test, [*ESTIMATES, "global-median"], online=online).methods
        base = found["global-median"]
        how = "updated after each completion" if online else "without updates"
        for name in ESTIMATES:
            one = found[name]
            record(
                Measurement(
                    f"within a factor of two, {name}, {how}", "%", [one["within_x2_pct"]],
                    "global median", [base["within_x2_pct"]], PAI,
                    f"median APE {one['median_ape_pct']:.1f} %, within 20 % "
                    f"{one['within_20_pct']:.1f} %, R2 log {one['r2_log']:.3f}, signed log error "
                    f"{one['signed_log_error']:.2f}, coverage {one['coverage_90_pct']:.1f} %",
                )
            )  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=20_000, help="synthetic jobs")
    options.add_argument("--rows", type=int, default=12_000, help="most rows of a real trace")
    options.add_argument("--only", help="one of the data sets, by the start of its name")
    options.add_argument("--unknown", action="store_true", help="real traces: the line alone")
    options.add_argument("--alarms", action="store_true", help="real traces: false alarms alone")
    chosen = options.parse_args()

    def wanted(name: str) -> bool:
        return chosen.only is None or name.startswith(chosen.only)

    if wanted("synthetic") and not (chosen.unknown or chosen.alarms):
        trace = make_pai(jobs=chosen.jobs, random_state=0)
        jobs = trace.jobs.merge(trace.truth["truth_profiles"], on="job_id")
        jobs = jobs[jobs["status"] == "completed"].head(chosen.rows).reset_index(drop=True)
        labels = jobs.pop("profile")
        name = f"synthetic PAI, {len(jobs):,} completed jobs, true profiles"
        for metadata in ("paper", "all"):
            classifiers(jobs, labels, name, metadata)
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    for name, place in REAL.items():
        if not wanted(name):
            continue
        jobs = open_trace(DATA / place, tables=["jobs"]).jobs
        jobs = jobs[jobs["duration_s"].notna()].tail(chosen.rows).reset_index(drop=True)
        alarms(jobs, name)
        if chosen.alarms:
            continue
        profiler = WorkloadProfiler(silhouette_rows=500).fit(jobs)
        print(f"{name}: {len(jobs):,} jobs, {profiler.statistics_['n_clusters']} profiles")
        for metadata in () if chosen.unknown else ("paper", "all"):
            classifiers(jobs, profiler.labels_, name, metadata)
        unknowns(jobs, profiler.labels_, name)
    if wanted("pai") and not (chosen.unknown or chosen.alarms):
        estimates()


if __name__ == "__main__":
    main()
