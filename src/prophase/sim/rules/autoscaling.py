"""Nodes that are booted when jobs wait and stopped when they are idle."""

from __future__ import annotations

from dataclasses import dataclass

from prophase.errors import ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.kernels.live import rules as r
from prophase.sim.rules.numbers import at_least


@dataclass(frozen=True)
class Autoscaler:
    """The first ``floor`` nodes are always on; the others, up to the ceiling, come and go.

    Attributes
    ----------
    floor, ceiling : int
        Nodes that are always on, and at most on; the ceiling is the cluster if not given.
    boot_s : float
        From the decision to the first job on a new node.
    idle_s : float
        A node that has run nothing for so long is stopped.
    """

    floor: int = 0
    ceiling: int | None = None
    boot_s: float = 300.0
    idle_s: float = 600.0

    def __post_init__(self) -> None:
        at_least("autoscaler floor", self.floor, 0)
        at_least("autoscaler boot_s", self.boot_s, 0)
        at_least("autoscaler idle_s", self.idle_s, 1)
        if self.ceiling is not None and self.ceiling < max(self.floor, 1):
            raise ParameterError(
                f"autoscaler: the ceiling of {self.ceiling} nodes is below "
                f"{'the floor of ' + str(self.floor) if self.floor else 'one node'}."
            )

    def most_nodes(self, cluster: Cluster) -> int:
        """Return the nodes that can be on together; refuse more than the cluster has."""
        ceiling = len(cluster) if self.ceiling is None else self.ceiling
        if ceiling > len(cluster) or self.floor > len(cluster):
            raise ParameterError(
                f"autoscaler: {max(ceiling, self.floor)} nodes cannot be reached, the cluster "
                f"lists {len(cluster)}. Name a larger cluster; its first nodes are the floor."
            )
        return ceiling

    def rules(self) -> dict[int, float]:
        """Return the numbers the loop is set by."""
        return {
            r.RULE_ELASTIC: float(self.floor),
            r.RULE_BOOT: self.boot_s,
            r.RULE_IDLE: self.idle_s,
        }
