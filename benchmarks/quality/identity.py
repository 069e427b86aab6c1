"""Which jobs are the same job again? The chosen identity against the fixed order of names.

One row per trace: the error of predicting later peaks and run times by the median of earlier runs
of the same key (mean absolute natural logarithm, three time splits, every measured target alike),
for the rule that an import chooses. The remark has the rule, tenants, kinds, the share of later
jobs whose key was seen before, and the same of the key of before (task, else group, workload, name,
user; tenants pooled). No setting is fitted to a trace: margins are the same for all.

    python benchmarks/quality/identity.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

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


def main() -> None:
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
