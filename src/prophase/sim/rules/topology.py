"""Where the parts of a job run changes how long it runs: one node, one rack, several racks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.errors import InputError
from prophase.sim.cluster import Cluster
from prophase.sim.rules.parsing import at_least
from prophase.sim.signatures import Ints


@dataclass(frozen=True)
class Topology:
    """What it costs a job to be spread, and which nodes are near each other.

    The run time of the trace holds for a job whose instances share one node.

    Attributes
    ----------
    nodes : float
        Run time of a job over several nodes of one domain: 1.1 is 10 % longer.
    domains : float, optional
        Run time of a job over several domains; as ``nodes`` if it is not given.
    column : str
        Column of the node table that names the domain: a rack, a switch, an NVLink domain.
    pack : bool
        Place a job on one node, else in one domain, where there is room; False leaves it to the
        place policy.
    """

    nodes: float = 1.0
    domains: float | None = None
    column: str = "rack"
    pack: bool = True

    def __post_init__(self) -> None:
        at_least("topology nodes", self.nodes, 1)
        at_least("topology domains", self.far, self.nodes)

    @property
    def far(self) -> float:
        """Run time of a job over several domains."""
        return self.nodes if self.domains is None else self.domains

    def domain_of(self, cluster: Cluster) -> Ints:
        """Return the domain of each node, as a number."""
        # readers keep columns of a node list that are not ours as attr_
        column = next((n for n in (self.column, f"attr_{self.column}") if n in cluster.nodes), "")
        if not column:
            raise InputError(
                f"topology: the node table has no column {self.column} that says which nodes are "
                f"near each other. It has: {', '.join(map(str, cluster.nodes.columns))}. Give a "
                "node list (--nodes), or name another column (column=NAME)."
            )
        named = cluster.nodes[column]
        if named.isna().any():
            node = cluster.nodes.loc[named.isna(), "node_id"].iloc[0]
            raise InputError(f"topology: node {node} has no {self.column}. Correct the node list.")
        return np.unique(named.astype(str), return_inverse=True)[1].astype(np.int64)

    def factor(self, domains: Ints, nodes: Ints) -> float:
        """Return how much longer a job runs on these nodes, given the domain of each node."""
        if (nodes == nodes[0]).all():
            return 1.0
        held = domains[nodes]
        return self.nodes if (held == held[0]).all() else self.far
