"""GPUs that are divided by MIG: which profile a job asks for, and how GPUs are divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import GPU_TYPE, GPUS
from prophase.sim.workload import Workload
from prophase.units.mig import MigModel, mig_model

_WHEN = ("never", "empty")


@dataclass(frozen=True)
class Mig:
    """How GPUs are divided, and who asks for which part.

    Attributes
    ----------
    column : str
        Column of the job table with the profile that each instance asks for, such as ``1g.5gb``;
        jobs without one take GPUs as they ask for them, and never one that is divided.
    layout : str
        Instances that every GPU is divided into from the beginning, such as
        ``3g.20gb+3g.20gb``; a column ``mig_layout`` of the node table says it per node. Without
        either, instances are made and removed as jobs come and go, wherever they may begin.
    repartition : {"never", "empty"}
        With a layout: whether a GPU of which no instance is in use may be divided anew, into as
        many instances as possible of the profile that is asked for. It takes no time.
    """

    column: str = "attr_mig_profile"
    layout: str = ""
    repartition: str = "never"

    def __post_init__(self) -> None:
        if self.repartition not in _WHEN:
            raise ParameterError(
                not_among(f"mig repartition={self.repartition}:", self.repartition, _WHEN)
            )

    def models(self, cluster: Cluster) -> list[MigModel | None]:
        """Return the model of each node's GPUs; None: they cannot be divided."""
        by_type = [mig_model(kind) for kind in cluster.gpu_types]
        return [
            by_type[int(kind)] if gpus else None
            for kind, gpus in zip(cluster.matrix[:, GPU_TYPE], cluster.matrix[:, GPUS], strict=True)
        ]

    def profiles(self, workload: Workload, models: list[MigModel | None]) -> list[str]:
        """Return the profile of each job, '' if it asks for none; refuse what no GPU offers."""
        if self.column not in workload.jobs:
            raise InputError(
                f"mig: the job table has no column {self.column} that says which profile a job "
                "asks for, such as 1g.5gb. Name another one (column=NAME)."
            )
        named = workload.jobs[self.column].fillna("").astype(str).str.strip().str.lower()
        offered = sorted({name for model in models if model for name in model.profiles})
        if not offered:
            raise InputError(
                "mig: no GPU of this cluster can be divided. Types that can: A30, A100, "
                "A100-80GB, H100, H200, such as --cluster '4x8 A100'."
            )
        unknown = named[(named != "") & ~named.isin(offered)]
        if len(unknown):
            job = workload.jobs.loc[unknown.index[0], "job_id"]
            raise InputError(
                f"mig: job {job} asks for {unknown.iloc[0]!r}, which no GPU of this cluster "
                f"offers. They offer: {', '.join(offered)}."
            )
        return named.tolist()

    def layouts(
        self, cluster: Cluster, models: list[MigModel | None]
    ) -> list[list[tuple[str, int]] | None] | None:
        """Return profile and start of each instance of a node's GPUs; None: made as needed."""
        column = cluster.nodes.get("mig_layout")
        if column is None and not self.layout:
            return None
        said = np.full(len(cluster), self.layout, object) if column is None else column.to_numpy()
        return [
            _instances(str(text), model, str(cluster.nodes["node_id"].iloc[node]))
            if model is not None and isinstance(text, str) and text.strip()
            else None
            for node, (text, model) in enumerate(zip(said, models, strict=True))
        ]


def _instances(text: str, model: MigModel, node: str) -> list[tuple[str, int]]:
    names = [name.strip().lower() for name in text.split("+")]
    for name in names:
        if name not in model.profiles:
            raise InputError(
                f"mig layout {text!r}: the {model.name} of node {node} has no profile {name!r}. "
                f"It has: {', '.join(model.profiles)}."
            )
    starts = model.arranged(names)
    if starts is None:
        raise InputError(
            f"mig layout {text!r} does not fit on the {model.name} of node {node}: there is no way "
            "to place its instances side by side."
        )
    return list(zip(names, starts, strict=True))
