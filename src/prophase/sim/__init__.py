"""What would the cluster do? Event simulation of a workload on a cluster."""

from prophase.sim.cluster import Cluster
from prophase.sim.schedule import Schedule
from prophase.sim.simulate import order_policies, place_policies, simulate
from prophase.sim.workload import Workload

__all__ = [
    "Cluster",
    "Schedule",
    "Workload",
    "order_policies",
    "place_policies",
    "simulate",
]
