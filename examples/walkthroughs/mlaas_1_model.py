"""MLaaS modelling: observed waits, formulas and a replay of the same jobs, side by side."""

from __future__ import annotations

import pandas as pd

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.theory_comparison import schedule_beside_theory
from prophase.trace.synth.pai import make_pai

JOBS = 400


def main() -> None:
    """Print what each view says about waiting, and why formulas fail."""
    trace = make_pai(JOBS, days=2.0)
    workload, cluster = Workload.from_jobs(trace.jobs), Cluster.from_nodes(trace.nodes)
    schedule = simulate(workload, cluster, leave_out_unfit=True)
    found = schedule_beside_theory(schedule)
    print(pd.DataFrame(found.rows()).set_index("measure").round(2).to_string())
    print(*found.verdict, sep="\n")


if __name__ == "__main__":
    main()
