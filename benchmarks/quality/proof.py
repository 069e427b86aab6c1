"""Is a promised saving kept? Advice at ten points of the past of real task traces.

One row per trace and gate: splits whose predicted saving came within 5 points of the held-out one,
with the largest error, the saving and the kills of following the advice in the remark.

    python benchmarks/quality/proof.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.sizing.advising.advice import Gate
from prophase.study.proof.hours import subject_of
from prophase.study.proof.splits import forward_splits
from prophase.trace.loading import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = {
    "nextflow chipseq": "nextflow/trace_chipseq.csv.gz",
    "nextflow eager": "nextflow/trace_eager.csv",
    "nextflow rnaseq": "nextflow/trace_rnaseq.csv",
    "nextflow mag": "nextflow/trace_mag.csv.gz",
}
GATES = (0.5, 0.2)


def main() -> None:
    for name, path in TRACES.items():
        trace = open_trace(DATA / path, tables=["jobs"])
        subject = subject_of(trace.jobs)
        for gate in GATES:
            found = forward_splits(subject, gate=Gate(least_saving=gate))
            errors = [one.error_points for one in found.splits]
            told = ""
            if found.saving is not None and found.oom is not None:
                told = (
                    f"followed from cut to cut: {found.saving.value:.1%} saved, "
                    f"{found.oom.value:.2%} killed; "
                )
            record(
                Measurement(
                    f"promises within 5 points, {name}, advising from {gate:.0%} saving",
                    f"of {len(found.splits)} splits",
                    [float(found.near)],
                    data=trace.data_hash[:12],
                    remark=f"{told}not more than 5 points below at {found.kept}; reached later "
                    f"jobs at {found.told}; errors {min(errors):.1f} to {max(errors):.1f} points",
                )
            )


if __name__ == "__main__":
    main()
