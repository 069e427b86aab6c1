"""What would the cluster do? Event simulation of a workload on a cluster."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.sim.cluster import Cluster
    from prophase.sim.policies import order_policies, place_policies
    from prophase.sim.schedule import Schedule
    from prophase.sim.simulation import simulate
    from prophase.sim.stepwise import ClusterState, simulate_steps
    from prophase.sim.workload import Workload

_HOMES = {
    "Cluster": "cluster",
    "ClusterState": "stepwise",
    "Schedule": "schedule",
    "Workload": "workload",
    "order_policies": "policies",
    "place_policies": "policies",
    "simulate": "simulation",
    "simulate_steps": "stepwise",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Cluster",
    "ClusterState",
    "Schedule",
    "Workload",
    "order_policies",
    "place_policies",
    "simulate",
    "simulate_steps",
]
