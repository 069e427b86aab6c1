"""Which jobs are the same job again? The chosen identity against the fixed order of names.

One row per trace: the error of predicting later peaks and run times by the median of earlier runs
of the same key (mean absolute natural logarithm, three time splits, every measured target alike),
for the rule that an import chooses. The remark has the rule, tenants, kinds, the share of later
jobs whose key was seen before, and the same of the key of before (task, else group, workload, name,
user; tenants pooled). No setting is fitted to a trace: margins are the same for all.

The part ``tenants`` generates 10,000 pairs of teams whose jobs have equal names and other needs,
and counts whose recommendation would be another one without the other team.

    python benchmarks/quality/identity.py [--part traces,tenants]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

from prophase.sizing.recommender import learn_recommender
from prophase.trace.identity.choice import (
    codes_of_columns,
    log_targets,
    prediction_errors,
    time_splits,
)
from prophase.trace.identity.job_identity import rule_of
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = (
    "drac-slurm/cedar_2021-05.csv.gz",
    "drac-slurm/graham_2021-05a.csv.gz",
    "mit-supercloud/slurm_sample.csv.gz",
    "xdmod-sacct/phillips.sacct.psv.gz",
    "ubccr-micro-slurm/real_outcomes_first250.psv",
    "hpc-swf",
    "nextflow/trace_chipseq.csv.gz",
    "nextflow/trace_eager.csv",
    "nextflow/trace_mag.csv.gz",
    "nextflow/trace_rnaseq.csv",
    "wfinstances",
    "pai/polaris_1_000_sampled_test_data.csv",
    "pai_sim",
    "philly",
    "google2011-jobs",
    "alibaba-dlrm2025",
    "gpumemnet",
)
BEFORE = ("task", "group", "workload", "name", "user")


PAIRS, AT_ONCE = 10_000, 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="traces,tenants")
    parts = parser.parse_args().part.split(",")
    if "traces" in parts:
        traces()
    if "tenants" in parts:
        tenants_apart()


def tenants_apart() -> None:
    """Count recommendations that cross from one team to another on the strength of a name."""
    crossed = lowered = asked = changed = 0
    for seed in range(PAIRS // AT_ONCE):
        jobs = pairs_of_teams(seed)
        both = learn_recommender(jobs, resources=["memory"])
        alone = [
            learn_recommender(jobs[jobs["side"] == side], resources=["memory"]) for side in (0, 1)
        ]
        whose = [name for name in ("attr_namespace", "group", "user") if name in jobs]
        first = jobs.drop_duplicates(whose)
        for job in first.to_dict("records"):
            told = both.recommend(job)[0].ladder
            own = alone[int(job["side"])].recommend(job)[0].ladder
            asked += 1
            changed += bool(told)
            crossed += told != own
            # a team of the same name of work that nobody knows
            stranger = {**job, **dict.fromkeys(whose, "nobody")}
            lowered += bool(both.recommend(stranger)[0].ladder)
    record(
        Measurement(
            "tenants with equal names of work",
            "crossings",
            [crossed + lowered],
            remark=f"{PAIRS:,} pairs of teams, {asked:,} jobs asked about, {changed:,} told "
            f"another request: {crossed} answers changed by the other team, {lowered} requests "
            "of unknown teams changed",
        )
    )


def pairs_of_teams(seed: int) -> pd.DataFrame:
    """Return jobs of pairs of teams: equal names of work, other needs, as sources name teams."""
    random = np.random.default_rng(seed)
    columns = [("attr_namespace",), ("group", "user"), ("user",), ("attr_namespace", "group")]
    named = columns[seed % len(columns)]
    rows = []
    for pair in range(AT_ONCE):
        kind = f"{random.choice(['train', 'etl', 'eval'])}-{random.choice(['bert', 'xgb'])}-{pair}x"
        for side in (0, 1):
            need, runs = float(random.lognormal(1.5, 1.0)), int(random.integers(10, 25))
            team = {name: f"{name[-4:]}{pair}{'ab'[side]}" for name in named}
            if len(named) == 2 and random.random() < 0.5:
                # one account or namespace for both, with users or teams of their own
                team[named[0]] = f"shared{pair}"
            for run in range(runs):
                peak = need * float(random.lognormal(0, 0.05))
                rows.append({**team, "side": side, "name": f"{kind}-{run:03}", "peak": peak})
    jobs = pd.DataFrame(rows).rename(columns={"peak": "memory_peak_gib"})
    when = 600.0 * np.arange(len(jobs))
    return jobs.assign(
        job_id=[f"j{n}" for n in range(len(jobs))], submit_s=when, start_s=when, duration_s=500.0,
        end_s=when + 500.0, status="completed", request_memory_gib=64.0,
    )  # fmt: skip


def traces() -> None:
    for path in TRACES:
        trace = open_trace(DATA / path, tables=["jobs"])
        jobs, rule = trace.jobs, rule_of(trace.jobs)
        tenants, kinds = jobs["tenant"].fillna(""), jobs["kind"]
        narrow, wide = codes_of_columns(tenants, kinds), codes_of_columns(tenants)
        before = codes_of_columns(named_before(jobs))
        error, seen = judged(jobs, narrow, wide)
        error_before, seen_before = judged(jobs, before, np.zeros(len(jobs), np.int64))
        record(
            Measurement(
                f"identity, {path.partition('.')[0]}",
                "mean |ln error|",
                [error],
                data=trace.data_hash[:12],
                remark=f"grouped by {rule}: {tenants.nunique():,} tenants, "
                f"{len(np.unique(narrow)):,} kinds, {seen:.0%} of later jobs seen before; by the "
                f"key of before {len(np.unique(before)):,} kinds, {seen_before:.0%} seen, error "
                f"{error_before:.3f}",
            )
        )


def judged(jobs: pd.DataFrame, narrow: np.ndarray, wide: np.ndarray) -> tuple[float, float]:
    """Return the error and the share of later jobs whose key was seen before."""
    splits = time_splits(jobs)
    found = [
        prediction_errors(logs, split, narrow, wide)
        for logs in log_targets(jobs, splits)
        for split in splits
    ]
    held = [(errors.mean(), seen.mean()) for errors, seen in found if len(errors)]
    error, seen = np.mean(held, axis=0)
    return float(error), float(seen)


def named_before(jobs: pd.DataFrame) -> pd.Series:
    """Name jobs as before there was an identity."""
    named = pd.Series(pd.NA, index=jobs.index, dtype="string")
    for column in BEFORE:
        if column in jobs:
            named = named.fillna(jobs[column].astype("string"))
    return named.fillna("all")


if __name__ == "__main__":
    main()
