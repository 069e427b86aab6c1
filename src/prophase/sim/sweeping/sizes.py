"""Clusters by name: the trace's own nodes, a share of them, or a short form."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import Cluster
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
