"""Does a replay place pods as the real kube-scheduler does?

    python benchmarks/quality/real_kube_scheduler.py [--seeds 10] [--pods 1000] [--nodes 100]

A real control plane (``tools/kubernetes_referee.py``) with 100 nodes of four kinds gets 1,000 pods
with and without GPUs, more than fit, under the strategies LeastAllocated and MostAllocated. Every
decision is judged in the state that the decisions before it have led to, since kube-scheduler draws
lots among equal nodes: see ``tests/sim/kube_scheduler.py``. The baseline is best fit, judged the
same way.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.sim.kube_scheduler import STRATEGIES, add_nodes, compared, nodes_of, pods_of, scheduled
from tests.sim.kube_scheduler import site as site_of
from tools.kubernetes_referee import KubernetesReferee

from record import Measurement, record


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--pods", type=int, default=1000)
    options.add_argument("--nodes", type=int, default=100)
    asked = options.parse_args()
    nodes = nodes_of(asked.nodes)
    with KubernetesReferee(site_of()) as kube:
        add_nodes(kube, nodes)
        for place, strategy in STRATEGIES.items():
            ours, others, notes = [], [], []
            for seed in range(asked.seeds):
                pods = pods_of(seed, asked.pods)
                bound = scheduled(kube, pods, place)
                found = compared(nodes, pods, bound, place)
                plain = compared(nodes, pods, bound, "best_fit")
                print(f"{strategy}, seed {seed}: {found}", flush=True)
                ours.append(100 * found.agreed / found.bound)
                others.append(100 * plain.agreed / plain.bound)
                notes.append(found)
            record(
                Measurement(
                    f"real kube-scheduler, {strategy}: decisions that are ours up to ties",
                    "%",
                    ours,
                    "best_fit",
                    others,
                    f"{asked.pods} pods on {asked.nodes} nodes",
                    f"{sum(len(one.room_differs) for one in notes)} pods where room differs; "
                    f"{sum(one.bound for one in notes)} of {sum(one.pods for one in notes)} bound, "
                    f"{sum(one.tied for one in notes)} with ties; with ties broken by our own rule "
                    f"{sum(one.own_ties_bound for one in notes)} are bound and "
                    f"{sum(one.own_ties_differ for one in notes)} differ",
                )
            )


if __name__ == "__main__":
    main()
