"""Node inventory: what kinds of nodes there are and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from prophase.trace.describe.part import NotComputable, has_values

_SHAPE = ("gpu_type", "gpus", "cpu_cores", "memory_gib")


@dataclass(frozen=True)
class NodeType:
    """Nodes of the same shape."""

    gpu_type: str
    nodes: int
    #: per node; missing if unknown
    gpus: float
    cpu_cores: float
    memory_gib: float


@dataclass(frozen=True)
class Inventory:
    """All node types, most frequent first, and the totals."""

    nodes: int
    gpus: float
    cpu_cores: float
    memory_gib: float
    types: tuple[NodeType, ...]


def describe_nodes(nodes: pd.DataFrame) -> Inventory | NotComputable:
    """Group nodes by GPU type, GPUs, cores and memory.

    Examples
    --------
    >>> describe_nodes(pd.DataFrame({"node_id": ["a", "b"], "gpus": [8.0, 8.0]})).types[0].nodes
    2
    """
    if not len(nodes):
        return NotComputable("the node table is empty")
    shape = [column for column in _SHAPE if has_values(nodes, column)]
    totals = {
        column: float(nodes[column].sum()) if column in shape else float("nan")
        for column in _SHAPE[1:]
    }
    if not shape:
        return Inventory(len(nodes), **totals, types=())
    grouped = nodes.groupby(shape, dropna=False).size().sort_values(ascending=False, kind="stable")
    types = []
    for key, number in grouped.items():
        values = dict(zip(shape, key if isinstance(key, tuple) else (key,), strict=True))
        gpu_type = values.get("gpu_type")
        types.append(
            NodeType(
                gpu_type="" if gpu_type is None or pd.isna(gpu_type) else str(gpu_type),
                nodes=int(number),
                gpus=float(values.get("gpus", float("nan"))),
                cpu_cores=float(values.get("cpu_cores", float("nan"))),
                memory_gib=float(values.get("memory_gib", float("nan"))),
            )
        )
    return Inventory(len(nodes), **totals, types=tuple(types))
