"""Is a predicted saving right? A back-test at ten cut-off dates of real task traces.

One row per trace and gate: cut-off dates whose predicted saving came within 5 points of that of
later jobs, of those that match a later job; with the largest error, the saving and the kills of
following the recommendations in the remark. Families of wfinstances have no requests and no
clock: each task is taken to ask for twice its highest peak (a power of two), and executions come
in an order drawn by lot; then one row per family over six such orders.

    python benchmarks/quality/proof.py [--only orders]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

from prophase.sizing.kind_recommendation import Gate
from prophase.study.proof.backtest import forward_splits
from prophase.study.proof.reserved_hours import subject_of
from prophase.study.proof.verdict import in_brackets
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = {
    "nextflow chipseq": "nextflow/trace_chipseq.csv.gz",
    "nextflow eager": "nextflow/trace_eager.csv",
    "nextflow rnaseq": "nextflow/trace_rnaseq.csv",
    "nextflow mag": "nextflow/trace_mag.csv.gz",
}
GATES = (0.0, 0.5)


#: families of wfinstances with repeated runs
FAMILIES = ("blast", "bwa", "montage", "srasearch")


ORDERS = (1, 2, 3, 4, 5, 6)


def main() -> None:
    if "--only" in sys.argv:
        orders()
        return
    for name, path in TRACES.items():
        trace = open_trace(DATA / path, tables=["jobs"])
        for gate in GATES:
            measure(name, trace.jobs, gate, trace.data_hash)
    trace = open_trace(DATA / "wfinstances", tables=["jobs"])
    for family in FAMILIES:
        jobs = as_history(trace.jobs[trace.jobs["workload"] == family])
        measure(f"wfinstances {family}", jobs, GATES[0], trace.data_hash)
    orders()


def orders() -> None:
    """The same families with executions in several orders: what one order says may be luck."""
    trace = open_trace(DATA / "wfinstances", tables=["jobs"])
    for family in FAMILIES:
        held = trace.jobs[trace.jobs["workload"] == family]
        made = [forward_splits(subject_of(as_history(held, seed))) for seed in ORDERS]
        told = [one for one in made if one.oom is not None]
        record(
            Measurement(
                f"promises within 5 points, wfinstances {family}, {len(ORDERS)} orders",
                "% of splits that reach later jobs",
                [100 * one.near / one.told for one in told],
                data=trace.data_hash[:12],
                remark="by order: "
                + "; ".join(
                    f"{one.near} of {one.told}, {one.saving.value:.1%} saved, "
                    f"{one.oom.value:.2%} killed"
                    for one in told
                    if one.saving is not None and one.oom is not None
                ),
            )
        )


def measure(name: str, jobs: pd.DataFrame, gate: float, data_hash: str) -> None:
    found = forward_splits(subject_of(jobs), gate=Gate(least_saving=gate))
    errors = [one.error_points for one in found.matched]
    saved = [one.held_out_pct for one in found.splits]
    followed = ""
    if found.saving is not None and found.oom is not None:
        followed = (
            f"followed from cut to cut: {found.saving.value:.1%} saved, {found.oom.value:.2%}"
            f"{in_brackets(found.oom, 2)} killed; "
        )
    record(
        Measurement(
            f"promises within 5 points, {name}, advising from {gate:.0%} saving",
            f"of {found.told} splits that reach later jobs",
            [float(found.near)],
            data=data_hash[:12],
            remark=f"{followed}within 5 points of the recommended jobs alone at "
            f"{found.near_of_reached}, not more than 5 below of all at {found.kept}; "
            f"{len(found.splits) - found.told} of {len(found.splits)} splits reach no later job; "
            f"errors {min(errors, default=0):.1f} to {max(errors, default=0):.1f} points; "
            f"all later jobs saved {np.mean(saved):.1f} % of their memory, mean over the splits",
        )
    )


def as_history(jobs: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Give tasks requests, and executions an order."""
    jobs = jobs[jobs["memory_peak_gib"] > 0]
    runs = jobs["parent_id"].unique()
    place = dict(zip(np.random.default_rng(seed).permutation(runs), range(len(runs)), strict=True))
    jobs = jobs.iloc[jobs["parent_id"].map(place).argsort(kind="stable")].reset_index(drop=True)
    highest = jobs.groupby("task")["memory_peak_gib"].transform("max")
    asked = np.maximum(2.0 ** np.ceil(np.log2(2 * highest)), 0.25)
    return jobs.assign(request_memory_gib=asked)


if __name__ == "__main__":
    main()
