"""A cluster: nodes as the matrix a replay works on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.signatures import (
    CPU,
    FEATURES,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    FREE_SHARE,
    FREE_WHOLE,
    GPU_TYPE,
    GPUS,
    MEMORY,
    Ints,
)

#: what is not stated never limits
_PLENTY = 1 << 40
_MOST_GPUS = 63
_SIZE = re.compile(r"\s*(\d+)\s*x\s*(\d+)\s*([A-Za-z][\w-]*)?\s*")


@dataclass(frozen=True)
class Cluster:
    """Nodes with their resources, and the names behind the numbers."""

    nodes: pd.DataFrame
    matrix: Ints
    gpu_types: tuple[str, ...]
    features: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def gpus(self) -> int:
        """GPUs of the whole cluster."""
        return int(self.matrix[:, GPUS].sum())

    @classmethod
    def from_nodes(cls, nodes: pd.DataFrame) -> Self:
        """Take a node table. CPU or memory that is not stated does not limit."""
        if nodes.empty:
            raise InputError("the node table is empty: there is nothing to run jobs on.")
        gpus = _count(nodes, "gpus", 0)
        if (gpus > _MOST_GPUS).any():
            raise InputError(
                f"a node has more than {_MOST_GPUS} GPUs; split it into several nodes."
            )
        matrix = np.zeros((len(nodes), FREE_SHARE + max(1, int(gpus.max()))), np.int64)
        matrix[:, CPU] = matrix[:, FREE_CPU] = _count(nodes, "cpu_cores", _PLENTY / 1000, 1000)
        matrix[:, MEMORY] = matrix[:, FREE_MEMORY] = _count(
            nodes, "memory_gib", _PLENTY / 1024, 1024
        )
        matrix[:, GPUS] = matrix[:, FREE_WHOLE] = gpus
        matrix[:, FREE_GPU] = 1000 * gpus
        for gpu in range(int(gpus.max())):
            matrix[:, FREE_SHARE + gpu] = np.where(gpus > gpu, 1000, 0)
        kinds = (
            nodes["gpu_type"].fillna("").astype(str)
            if "gpu_type" in nodes
            else pd.Series([""] * len(nodes))
        )
        types = tuple(sorted(set(kinds)))
        matrix[:, GPU_TYPE] = [types.index(kind) for kind in kinds]
        labels = _labels(nodes)
        features = tuple(sorted(set().union(*labels)))
        matrix[:, FEATURES] = [sum(1 << features.index(f) for f in row) for row in labels]
        nothing = (gpus == 0) & (matrix[:, CPU] == 0)
        if nothing.any():
            names = nodes.loc[nothing, "node_id"].astype(str)
            raise InputError(
                f"node {names.iloc[0]} has neither CPU nor GPU: nothing can run there."
            )
        return cls(nodes.reset_index(drop=True), matrix, types, features)

    @classmethod
    def uniform(
        cls,
        nodes: int,
        gpus_per_node: int,
        *,
        gpu_type: str = "GPU",
        cpu_cores: float | None = None,
        memory_gib: float | None = None,
    ) -> Self:
        """Make a cluster of identical nodes."""
        if nodes < 1 or gpus_per_node < 0:
            raise ParameterError(
                f"a cluster of {nodes} nodes with {gpus_per_node} GPUs is no cluster."
            )
        table = pd.DataFrame({"node_id": [f"node-{i}" for i in range(nodes)]})
        table["gpus"] = float(gpus_per_node)
        table["gpu_type"] = gpu_type
        if cpu_cores is not None:
            table["cpu_cores"] = cpu_cores
        if memory_gib is not None:
            table["memory_gib"] = memory_gib
        return cls.from_nodes(table)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a short form: ``'100x8'``, ``'50x8 V100, 20x2 T4'``: nodes x GPUs, type."""
        tables: list[pd.DataFrame] = []
        for part in text.split(","):
            match = _SIZE.fullmatch(part)
            if not match:
                raise ParameterError(
                    f"cluster {part.strip()!r} is not understood. Write nodes x GPUs and a type, "
                    "such as 100x8 or '50x8 V100, 20x2 T4'."
                )
            made = cls.uniform(int(match[1]), int(match[2]), gpu_type=match[3] or "GPU").nodes
            made["node_id"] = made["gpu_type"] + f"-{len(tables)}-" + made["node_id"]
            tables.append(made)
        return cls.from_nodes(pd.concat(tables, ignore_index=True))


def _count(nodes: pd.DataFrame, name: str, default: float, factor: float = 1.0) -> Ints:
    if name not in nodes:
        return np.full(len(nodes), int(default * factor), np.int64)
    return np.floor(nodes[name].fillna(default).to_numpy(float) * factor + 1e-6).astype(np.int64)


def _labels(nodes: pd.DataFrame) -> list[set[str]]:
    if "features" not in nodes:
        return [set()] * len(nodes)
    return [set(filter(None, text.split("|"))) for text in nodes["features"].fillna("").astype(str)]
