"""Clusters by name: the trace's nodes, a share of them, a short form, more or fewer nodes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, nearest
from prophase.sim.cluster import CORES_AND_MEMORY, Cluster, refuse_endless
from prophase.sim.signatures import CPU, FEATURES, GPU_TYPE, GPUS, MEMORY, Ints

_OWN = re.compile(r"own\s*(?:\*\s*(\d+(?:\.\d+)?))?")


def cluster_named(text: str, own: Cluster | None = None) -> Cluster:
    """Return the cluster a text stands for.

    Parameters
    ----------
    text : str
        ``"own"`` for the trace's nodes, ``"own*0.8"`` for four fifths of each kind of them, or
        nodes x GPUs and a type, several kinds joined by ``+``: ``"50x8 V100 + 20x2 T4"``.
    own : Cluster, optional
        The nodes of the trace.

    Examples
    --------
    >>> cluster_named("2x8 V100 + 1x2 T4").gpus
    18
    >>> cluster_named("own*1.5", Cluster.uniform(4, 8)).gpus
    48
    """
    match = _OWN.fullmatch(text.strip())
    if match is None:
        return Cluster.parse(text.replace("+", ","))
    if own is None:
        raise InputError(
            "the trace has no node table, so there is no cluster 'own'. Name sizes, e.g. "
            "--cluster 50x8,60x8, or a node list with --nodes FILE."
        )
    return own if match[1] is None else scaled(own, round(float(match[1]) * len(own)))


def scaled(cluster: Cluster, nodes: int) -> Cluster:
    """Return a cluster of that many nodes, with kinds in the same proportions.

    A larger one holds every smaller one (seats are dealt as Sainte-Lague does), so that more
    nodes never mean fewer of a kind.

    Examples
    --------
    >>> small = scaled(Cluster.parse("20x8 V100, 10x2 T4"), 3)
    >>> small.nodes["gpu_type"].tolist()
    ['V100', 'V100', 'T4']
    """
    if nodes < 1:
        raise ParameterError("a cluster needs at least one node. Use a larger share.")
    if nodes == len(cluster):
        return cluster
    kind_of = node_kinds(cluster)
    wanted = _dealt(np.bincount(kind_of), nodes)
    # the first of each kind stay; of what is missing, copies come after them in turns
    turn = np.empty(len(cluster), np.int64)
    for kind in range(len(wanted)):
        turn[kind_of == kind] = np.arange(int((kind_of == kind).sum()))
    parts, copy = [], 0
    size = np.bincount(kind_of)[kind_of]
    while (taken := turn + copy * size < wanted[kind_of]).any():
        part = cluster.nodes[taken]
        parts.append(part.assign(node_id=_copy_names(part, copy)) if copy else part)
        copy += 1
    return Cluster.from_nodes(pd.concat(parts, ignore_index=True))


def node_kinds(cluster: Cluster) -> Ints:
    """Number the kinds of nodes: alike in GPUs, type, cores, memory and features."""
    alike = pd.DataFrame(cluster.matrix[:, [GPUS, GPU_TYPE, CPU, MEMORY, FEATURES]])
    return np.asarray(alike.groupby(list(alike), sort=False).ngroup(), np.int64)


def _dealt(counts: Ints, seats: int) -> Ints:
    """Deal seats to kinds by their highest quotients count / 1, / 3, / 5 ..."""
    most = np.ceil(seats * counts / counts.sum()).astype(np.int64) + 1
    kind = np.repeat(np.arange(len(counts)), most)
    place = np.concatenate([np.arange(each) for each in most])
    best = np.lexsort((kind, -counts[kind] / (2 * place + 1)))[:seats]
    return np.bincount(kind[best], minlength=len(counts))


def _copy_names(nodes: pd.DataFrame, copy: int) -> pd.Series:
    return nodes["node_id"].astype(str) + f"+{copy}"


_FORM = re.compile(r"\s*(\d+)\s*x\s*(\d+)?\s*([A-Za-z][\w-]*)?" + CORES_AND_MEMORY)


@dataclass(frozen=True)
class NodeGroup:
    """So many nodes of a kind; what is not said is None."""

    nodes: int
    gpus: int | None
    gpu_type: str | None
    cpu_cores: float | None = None
    memory_gib: float | None = None


def parse_nodes(text: str) -> list[NodeGroup]:
    """Read nodes x GPUs, type, cores and GiB as ``Cluster.parse``; joined by ``+`` or a comma.

    Examples
    --------
    >>> parse_nodes("16xA10")
    [NodeGroup(nodes=16, gpus=None, gpu_type='A10', cpu_cores=None, memory_gib=None)]
    >>> parse_nodes("4x8 V100 + 2x2 T4 32c")[1]
    NodeGroup(nodes=2, gpus=2, gpu_type='T4', cpu_cores=32.0, memory_gib=None)
    """
    groups = []
    for part in re.split(r"[+,]", text):
        match = _FORM.fullmatch(part)
        if not match or not int(match[1]) or (match[2] is None and match[3] is None):
            raise ParameterError(
                f"nodes {part.strip()!r} are not understood. Write nodes x GPUs and a type, such "
                "as '16x8 A10' or '16x8 A10 64c 512g', or 16xA10 for 16 nodes like those there are."
            )
        gpus = int(match[2]) if match[2] else None
        cores, memory = (float(match[place]) if match[place] else None for place in (4, 5))
        groups.append(NodeGroup(int(match[1]), gpus, match[3], cores, memory))
    refuse_endless(sum(group.nodes for group in groups))
    return groups


def add_nodes(cluster: Cluster, text: str) -> tuple[Cluster, list[str]]:
    """Return the cluster with more nodes, and remarks on what had to be assumed.

    Nodes like some that are there get their cores and memory; new kinds get as many cores and
    as much memory per GPU as the cluster's GPU nodes have in the median.
    """
    tables, remarks = [cluster.nodes], []
    for number, group in enumerate(parse_nodes(text)):
        like = _like(cluster, group)
        if like is not None:
            row = cluster.nodes.iloc[[like]]
        else:
            row, remark = _new_kind(cluster, group)
            remarks.append(remark)
        added = pd.concat([row] * group.nodes, ignore_index=True)
        added["node_id"] = [f"added-{number}-{place}" for place in range(group.nodes)]
        tables.append(added)
    return Cluster.from_nodes(pd.concat(tables, ignore_index=True)), remarks


def remove_nodes(cluster: Cluster, text: str) -> Cluster:
    """Return the cluster without so many nodes of a kind, the last ones of the node list."""
    kept = np.ones(len(cluster), np.bool_)
    for group in parse_nodes(text):
        alike = np.flatnonzero(_matching(cluster, group) & kept)
        if len(alike) < group.nodes:
            raise ParameterError(
                f"remove {text!r}: the cluster has {len(alike):,} such nodes, not "
                f"{group.nodes:,}. {_kinds(cluster, group.gpu_type)}"
            )
        kept[alike[-group.nodes :]] = False
    if not kept.any():
        raise ParameterError(f"remove {text!r}: no node would be left.")
    return Cluster.from_nodes(cluster.nodes[kept].reset_index(drop=True))


def _matching(cluster: Cluster, group: NodeGroup) -> np.ndarray:
    fits = np.ones(len(cluster), np.bool_)
    if group.gpus is not None:
        fits &= cluster.matrix[:, GPUS] == group.gpus
    if group.gpu_type is not None:
        types = cluster.nodes["gpu_type"].fillna("").astype(str).str.lower()
        fits &= (types == group.gpu_type.lower()).to_numpy()
    for column, stated in (("cpu_cores", group.cpu_cores), ("memory_gib", group.memory_gib)):
        if stated is not None:
            fits &= (
                (cluster.nodes[column] == stated).to_numpy() if column in cluster.nodes else False
            )
    return fits


def _like(cluster: Cluster, group: NodeGroup) -> int | None:
    """Return the row of a node that the group resembles: the commonest size of the type."""
    rows = np.flatnonzero(_matching(cluster, group))
    if not len(rows):
        return None
    sizes = cluster.matrix[rows, GPUS]
    values, counts = np.unique(sizes, return_counts=True)
    return int(rows[sizes == values[counts.argmax()]][0])


def _new_kind(cluster: Cluster, group: NodeGroup) -> tuple[pd.DataFrame, str]:
    gpus = 1 if group.gpus is None else group.gpus
    kind = group.gpu_type or (cluster.gpu_types[0] if len(cluster.gpu_types) == 1 else "GPU")
    row = pd.DataFrame({"node_id": [""], "gpus": [float(gpus)], "gpu_type": [kind]})
    with_gpus = cluster.nodes[cluster.matrix[:, GPUS] > 0]
    said = []
    for column, unit, stated in (
        ("cpu_cores", "cores", group.cpu_cores),
        ("memory_gib", "GiB", group.memory_gib),
    ):
        if stated is not None:
            row[column] = stated
            said.append(f"{stated:.4g} {unit}")
        elif column in with_gpus and with_gpus[column].notna().any():
            each = float((with_gpus[column] / with_gpus["gpus"]).median()) * max(gpus, 1)
            row[column] = each
            said.append(f"{each:.4g} {unit}")
    have = " and ".join(said) or "cores and memory that never limit"
    return row, (
        f"{group.nodes} x {kind}: a kind the cluster does not have; taken as {gpus} GPU"
        f"{'s' if gpus != 1 else ''} per node with {have}. Jobs that name other GPU types cannot "
        f"use them. For larger nodes write e.g. {group.nodes}x8 {kind}."
    )


def _kinds(cluster: Cluster, wanted: str | None) -> str:
    kinds = Counter(zip(cluster.matrix[:, GPUS], cluster.nodes["gpu_type"].fillna(""), strict=True))
    held = ", ".join(f"{count}x{gpus} {kind}".strip() for (gpus, kind), count in kinds.items())
    hint = nearest(wanted, cluster.gpu_types) if wanted else ""
    return f"{hint} It has: {held}.".strip()
