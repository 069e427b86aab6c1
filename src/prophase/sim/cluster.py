"""A cluster: nodes as the matrix a replay works on."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.plain import finite
from prophase.short_form import ShortForm
from prophase.sim.rules.parsing import number_column
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
PLENTY = 1 << 40
_MOST_GPUS = 63
#: more than any real cluster has; a slip of the finger would run for hours before it shows
MOST_NODES = 1_000_000
#: how a short form of nodes ends
CORES_AND_MEMORY = r"(?:\s+(\d+(?:\.\d+)?)\s*[cC])?(?:\s+(\d+(?:\.\d+)?)\s*[gG])?\s*"
_SIZE = re.compile(r"\s*(\d+)\s*x\s*(\d+)\s*([A-Za-z][\w-]*)?" + CORES_AND_MEMORY)

#: the type of GPUs whose type nobody stated
UNNAMED = "GPU"


@dataclass(frozen=True, repr=False)
class Cluster(ShortForm):
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

    @property
    def table(self) -> pd.DataFrame:
        """The nodes."""
        return self.nodes

    def summary(self) -> list[str]:
        """Say how many nodes and GPUs there are, by type."""
        kinds = pd.Series([self.gpu_types[kind] for kind in self.matrix[:, GPU_TYPE]])
        by_type = pd.Series(self.matrix[:, GPUS]).groupby(kinds).sum()
        named = [f"{count:,} {kind or UNNAMED}" for kind, count in by_type.items() if count]
        return [f"Cluster of {len(self):,} nodes: {', '.join(named) or 'no GPUs'}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the nodes as JSON holds them."""
        return {"gpus": self.gpus, "nodes": finite(self.nodes.to_dict("records"))}

    def first(self, count: int) -> Self:
        """Return the first nodes alone."""
        if count >= len(self):
            return self
        return replace(self, nodes=self.nodes.iloc[:count], matrix=self.matrix[:count])

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
        matrix[:, CPU] = matrix[:, FREE_CPU] = _count(nodes, "cpu_cores", PLENTY / 1000, 1000)
        matrix[:, MEMORY] = matrix[:, FREE_MEMORY] = _count(
            nodes, "memory_gib", PLENTY / 1024, 1024
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
        gpu_type: str = UNNAMED,
        cpu_cores: float | None = None,
        memory_gib: float | None = None,
    ) -> Self:
        """Make a cluster of identical nodes; at most a million."""
        if nodes < 1 or gpus_per_node < 0:
            raise ParameterError(
                f"a cluster of {nodes} nodes with {gpus_per_node} GPUs is no cluster. Write at "
                "least one node, such as 100x8, or 100x0 for nodes without GPUs."
            )
        refuse_endless(nodes)
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
        """Read a short form: nodes x GPUs, then GPU type, cores and GiB of memory per node.

        All but the first is optional; cores or memory that are not given do not limit.

        Examples
        --------
        >>> cluster = Cluster.parse("2x8 V100 96c 512g, 1x2 T4")
        >>> cluster.nodes["cpu_cores"].tolist(), cluster.gpus
        ([96.0, 96.0, nan], 18)
        """
        parts = [_parsed(text, place, part) for place, part in enumerate(text.split(","), 1)]
        refuse_endless(sum(int(part[1]) for part in parts))
        tables: list[pd.DataFrame] = []
        for part in parts:
            made = cls.uniform(
                int(part[1]),
                int(part[2]),
                gpu_type=part[3] or UNNAMED,
                cpu_cores=None if part[4] is None else float(part[4]),
                memory_gib=None if part[5] is None else float(part[5]),
            ).nodes
            made["node_id"] = made["gpu_type"] + f"-{len(tables)}-" + made["node_id"]
            tables.append(made)
        return cls.from_nodes(pd.concat(tables, ignore_index=True))


def _parsed(text: str, place: int, part: str) -> re.Match[str]:
    match = _SIZE.fullmatch(part)
    if match is None or str(match[3]).lower() in ("inf", "infinity", "nan", "null"):
        what = f"{part.strip()!r} is not understood" if part.strip() else f"part {place} is empty"
        raise ParameterError(
            f"cluster {text!r}: {what}. Write nodes x GPUs, then if you like GPU type, cores and "
            "GiB per node, such as 100x8 or '50x8 V100 96c 512g, 20x2 T4'."
        )
    return match


def refuse_endless(nodes: int) -> None:
    """Refuse more nodes than can be replayed."""
    if nodes > MOST_NODES:
        raise ParameterError(
            f"a cluster of {nodes:,} nodes is more than the {MOST_NODES:,} that can be replayed. "
            "Check the number: it is nodes x GPUs per node, such as 100x8."
        )


def _count(nodes: pd.DataFrame, name: str, default: float, factor: float = 1.0) -> Ints:
    if name not in nodes:
        return np.full(len(nodes), int(default * factor), np.int64)
    try:
        amounts = nodes[name].fillna(default).to_numpy(float)
    except (TypeError, ValueError):
        amounts = number_column(nodes, name, "node table", finite=False, missing=default)
    for rows, what in (
        (amounts < 0, "a negative number"),
        (np.isinf(amounts), "an infinite number (leave CPU or memory that do not limit out)"),
        ((name == "gpus") & (np.floor(amounts) != amounts), "no whole number"),
    ):
        if rows.any():
            names = nodes.loc[rows, "node_id"].astype(str)
            raise InputError(f"node {names.iloc[0]} has {what} of {name}. Correct the node table.")
    return np.minimum(np.floor(amounts * factor + 1e-6), PLENTY).astype(np.int64)


def _labels(nodes: pd.DataFrame) -> list[set[str]]:
    if "features" not in nodes:
        return [set()] * len(nodes)
    return [set(filter(None, text.split("|"))) for text in nodes["features"].fillna("").astype(str)]
