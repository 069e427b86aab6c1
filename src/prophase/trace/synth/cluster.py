"""Node inventories: like PAI's cluster, like the one of the openb trace, or a dozen nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase.errors import ParameterError
from prophase.trace.schema import check_nodes
from prophase.trace.synth.generator import (
    TraceGenerator,
    check_choice,
    check_range,
    chosen,
    seeded,
    synthetic_trace,
)
from prophase.trace.trace_tables import Trace


class NodeKind(NamedTuple):
    """Nodes that are all alike, and how many of them there are."""

    gpu_type: str | None
    nodes: int
    gpus: int
    cpu_cores: int
    memory_gib: int


#: the trace owner's machine list, counted: 1,897 machines, 6,742 GPUs
PAI = (
    NodeKind("MISC", 280, 8, 96, 512),
    NodeKind("P100", 798, 2, 64, 512),
    NodeKind("T4", 497, 2, 96, 512),
    NodeKind("V100", 59, 8, 96, 512),
    NodeKind("V100", 45, 8, 96, 384),
    NodeKind("V100M32", 135, 8, 96, 384),
    NodeKind(None, 83, 0, 96, 512),
)
#: shaped like the GPU nodes of the openb trace: 1,213 nodes, 6,212 GPUs, 107,018 cores
OPENB = (
    NodeKind("G2", 549, 8, 96, 384),
    NodeKind("T4", 387, 2, 104, 512),
    NodeKind("P100", 107, 2, 16, 120),
    NodeKind("G3", 39, 8, 128, 768),
    NodeKind("V100M16", 28, 4, 32, 128),
    NodeKind("P100", 22, 2, 64, 256),
    NodeKind("V100M32", 21, 8, 96, 768),
    NodeKind("V100M16", 19, 1, 8, 32),
    NodeKind("T4", 17, 4, 96, 384),
    NodeKind("V100M32", 9, 4, 48, 368),
    NodeKind("V100M16", 7, 8, 64, 256),
    NodeKind("P100", 3, 1, 8, 60),
    NodeKind("P100", 2, 2, 8, 60),
    NodeKind("A10", 2, 1, 128, 1024),
    NodeKind("V100M16", 1, 8, 82, 336),
)
SMALL = (
    NodeKind("MISC", 2, 8, 96, 512),
    NodeKind("P100", 4, 2, 64, 512),
    NodeKind("T4", 3, 2, 96, 512),
    NodeKind("V100", 1, 8, 96, 512),
    NodeKind("V100M32", 1, 8, 96, 384),
    NodeKind(None, 1, 0, 96, 512),
)
INVENTORIES = {"pai": PAI, "openb": OPENB, "small": SMALL}


def make_cluster(like: str = "pai", *, scale: float = 1.0, random_state: int = 0) -> Trace:
    """Return a trace that holds only nodes.

    Parameters
    ----------
    like : {"pai", "openb", "small"}
        ``pai``: 1,897 nodes, 6,742 GPUs of five types. ``openb``: 1,213 nodes, 6,212 GPUs,
        107,018 cores of seven types. ``small``: 12 nodes, 46 GPUs.
    scale : float, default=1.0
        Multiplies the number of nodes. The mix of types stays as close to the original as
        whole nodes allow, and every type keeps at least one node.
    random_state : int, default=0
        Shuffles the order of the nodes, so that types are not in blocks.

    Examples
    --------
    >>> nodes = make_cluster("pai").nodes
    >>> len(nodes), int(nodes["gpus"].sum())
    (1897, 6742)
    """
    check_choice("cluster: like", like, tuple(INVENTORIES))
    check_range("cluster: scale", scale, 1e-4, 1000)
    nodes = nodes_of(scaled(INVENTORIES[like], scale), seeded(random_state))
    parameters = {"like": like, "scale": scale}
    return synthetic_trace("cluster", {"nodes": nodes}, parameters, random_state=random_state)


def scaled(kinds: tuple[NodeKind, ...], scale: float) -> tuple[NodeKind, ...]:
    """Return the inventory with ``scale`` times the nodes, rounded by largest remainder."""
    exact = np.array([kind.nodes for kind in kinds]) * scale
    whole = np.floor(exact).astype(int)
    short = round(float(exact.sum())) - int(whole.sum())
    if short > 0:
        whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
    covered: set[str | None] = set()
    for place in np.argsort(-exact, kind="stable"):
        kind = kinds[place]
        if kind.gpu_type not in covered:
            covered.add(kind.gpu_type)
            whole[place] = max(whole[place], 1)
    return tuple(
        kind._replace(nodes=int(count)) for kind, count in zip(kinds, whole, strict=True) if count
    )


def nodes_of(kinds: tuple[NodeKind, ...], rng: np.random.Generator) -> pd.DataFrame:
    """Return the node table of an inventory, in random order."""
    counts = np.array([kind.nodes for kind in kinds])
    if not counts.sum():
        raise ParameterError("a cluster needs at least one node.")
    kind_of = rng.permutation(np.repeat(np.arange(len(kinds)), counts))
    table = np.array([(k.cpu_cores, k.memory_gib, k.gpus) for k in kinds], dtype=float)[kind_of]
    return check_nodes(
        pd.DataFrame(
            {
                "node_id": pd.Series([f"node-{n:04d}" for n in range(len(kind_of))], dtype="str"),
                "cpu_cores": table[:, 0],
                "memory_gib": table[:, 1],
                "gpus": table[:, 2],
                "gpu_type": chosen([kind.gpu_type for kind in kinds], kind_of),
            }
        )
    )


GENERATOR = TraceGenerator(
    "cluster",
    "node inventories: like PAI's cluster, like openb's, or a dozen nodes",
    make_cluster,
    {
        "like": "pai (1,897 nodes), openb (1,213 nodes) or small (12 nodes)",
        "scale": "multiplies the number of nodes",
    },
)
