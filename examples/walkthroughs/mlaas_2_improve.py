"""MLaaS modelling: why jobs wait, and what other orders and placements would do."""

from __future__ import annotations

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.why.explanation import why
from prophase.trace.synth.pai import make_pai

JOBS = 400
RULES = (("fifo", "best_fit"), ("shortest", "best_fit"), ("fifo", "reserve_and_pack"))


def main() -> None:
    """Print the causes of waiting, and the mean wait under a few rules."""
    trace = make_pai(JOBS, days=2.0, utilisation=1.2)
    workload, cluster = Workload.from_jobs(trace.jobs), Cluster.from_nodes(trace.nodes)
    found = why(workload, cluster, remove=False, leave_out_unfit=True)
    for row in found.side_by_side():
        if row["share_pct"]:
            print(f"{row['cause']}: {row['share_pct']:.0f} % of all waiting")
    for order, place in RULES:
        schedule = simulate(workload, cluster, order=order, place=place, leave_out_unfit=True)
        print(f"{order}, {place}: mean wait {schedule.metrics()['mean_wait_s']:,.0f} s")


if __name__ == "__main__":
    main()
