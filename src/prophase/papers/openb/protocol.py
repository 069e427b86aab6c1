"""The fragmentation experiments on Alibaba's 2023 trace, reproduced at every point.

Source of the protocol: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. Pods
arrive one by one and never leave; one that fits nowhere is dropped but counts as arrived.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.kernels import published_simulators as scores
from prophase.sim.kernels.published_simulators import measure_arrivals
from prophase.sim.place import fgd, random
from prophase.sim.place.fgd import fragmentation_after, typical_classes
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    ASK_TYPES,
    FREE_GPU,
    Floats,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings, run_static_loop
from prophase.trace.source_files import plain_name

#: name -> (score, choice of a GPU)
POLICIES: dict[str, tuple[Callable[..., float], Callable[..., int]]] = {
    "random": (random.random, random.choose_gpu),
    "dot_product": (scores.dot_product, tightest_gpu),
    "gpu_clustering": (scores.gpu_clustering, tightest_gpu),
    "gpu_packing": (scores.gpu_packing, tightest_gpu),
    "best_fit": (scores.best_fit, tightest_gpu),
    "fgd": (fgd.fgd, fgd.choose_gpu),
}
LAST_ARRIVAL_PCT = 130


@dataclass(frozen=True)
class OpenbCurves:
    """Measures in percent at arrival 0..130 % of the GPU capacity, and what was placed."""

    place: str
    seed: int
    allocation_pct: Floats
    fragmentation_ratio_pct: Floats
    fragmentation_amount_pct: Floats
    placed: int
    dropped: int

    def to_dict(self) -> JsonObject:
        """Return everything as plain lists and numbers."""
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        }


def simulate_openb(
    pods: pd.DataFrame,
    nodes: pd.DataFrame,
    *,
    arrivals: Ints,
    node_rank: Ints,
    place: str = "fgd",
    seed: int = 42,
) -> OpenbCurves:
    """Place pods one by one and return the published curves.

    Parameters
    ----------
    pods : DataFrame
        Job table of the ``openb`` reader; ``attr_row`` gives the order of its file.
    nodes : DataFrame
        Node table of the GPU nodes; ranks follow the order of their names.
    arrivals : array
        Rows of ``pods`` in the order of arrival; rows may repeat.
    node_rank : array
        Rank of each node among equal scores, smallest first.
    seed : int
        Only for ``random``; kept in the result.
    """
    run = place_pods(pods, nodes, arrivals=arrivals, node_rank=node_rank, place=place, seed=seed)
    matrix, asks, starts, count = run.nodes, run.asks, run.starts, len(arrivals)
    allocated, fragmented = np.empty(count), np.empty(count)
    capacity = float(matrix[:, FREE_GPU].sum())
    measure_arrivals(
        matrix,
        asks,
        np.ascontiguousarray(starts.node),
        np.ascontiguousarray(starts.gpu_bits),
        run.classes,
        fragmentation_after,
        allocated,
        fragmented,
    )
    arrived = np.cumsum(asks[:, ASK_GPUS] * asks[:, ASK_MILLI])
    bins = np.round(100.0 * arrived / capacity).astype(int)
    idle = capacity - allocated

    def curve(values: Floats) -> Floats:
        by_bin = pd.Series(values).groupby(bins).mean().reindex(range(LAST_ARRIVAL_PCT + 1))
        return np.asarray(by_bin, np.float64)

    return OpenbCurves(
        place=place,
        seed=seed,
        allocation_pct=curve(np.round(100.0 * allocated / capacity, 2)),
        fragmentation_ratio_pct=curve(100.0 * fragmented / np.where(idle > 0, idle, np.nan)),
        fragmentation_amount_pct=curve(100.0 * fragmented / capacity),
        placed=int((starts.node >= 0).sum()),
        dropped=int((starts.node < 0).sum()),
    )


@dataclass(frozen=True)
class PlacedPods:
    """Where each arrival went: nodes in the order of their ranks, requests, classes, starts."""

    nodes: Ints
    asks: Ints
    classes: Floats
    starts: Attempts


def place_pods(
    pods: pd.DataFrame,
    nodes: pd.DataFrame,
    *,
    arrivals: Ints,
    node_rank: Ints,
    place: str,
    seed: int,
) -> PlacedPods:
    """Place pods one by one; arguments as for :func:`simulate_openb`."""
    if place not in POLICIES:
        raise ParameterError(not_among(f"place {place!r} is unknown here.", place, POLICIES))
    if len(node_rank) != len(nodes):
        raise InputError(
            f"the ranks are for {len(node_rank):,} nodes, the node list has {len(nodes):,}. "
            "Use the list of GPU nodes."
        )
    pods = pods.sort_values("attr_row").reset_index(drop=True) if "attr_row" in pods else pods
    nodes = nodes.sort_values("node_id").reset_index(drop=True)
    if len(arrivals) and not 0 <= arrivals.min() <= arrivals.max() < len(pods):
        raise InputError(
            f"the arrival order names row {arrivals.max():,}, the pod list has {len(pods):,} rows. "
            "Use the pod list the order was made for."
        )
    cluster = Cluster.from_nodes(nodes.iloc[np.argsort(node_rank, kind="stable")])
    matrix, kinds = cluster.matrix, cluster.gpu_types
    classes = pod_classes(pods, kinds)
    asks = _asks(pods, kinds)[arrivals]
    score, choose_gpu = POLICIES[place]
    count = len(arrivals)
    starts = run_static_loop(
        np.arange(count, dtype=float),
        np.full(count, np.inf),
        asks,
        np.arange(count),
        matrix,
        PlaceSettings(
            score,
            choose_gpu,
            random.prepare(asks, cluster, seed) if place == "random" else classes,
            lots=place == "random",
        ),
    )
    return PlacedPods(matrix, asks, classes, starts)


def arrival_order(path: Path, pods: Path, seed: int) -> tuple[Ints, Ints]:
    """Return the arrival sequence and node ranks for a pod list and a seed.

    The file holds ``<list>_<seed>_order`` and ``<list>_<seed>_noderank``; the list is named
    by the pod file (``openb_pod_list_default.csv``: default). An order of another list would
    name the wrong pods, so a file of several lists is refused if none is the pod file's.
    """
    try:
        with np.load(path, allow_pickle=False) as orders:
            names = sorted({key.rsplit("_", 2)[0] for key in orders})
            wanted = [name for name in names if name in plain_name(pods)]
            if not wanted and len(names) > 1:
                raise InputError(
                    f"{path}: has arrival orders of {', '.join(names)}, none of them for "
                    f"{pods.name}. The name of the pod file says which list it is, as in "
                    f"openb_pod_list_{names[0]}.csv."
                )
            name = max(wanted or names, key=len)
            keys = [f"{name}_{seed}_{part}" for part in ("order", "noderank")]
            if any(key not in orders for key in keys):
                raise InputError(
                    f"{path}: has no arrival order for list {name!r} and seed {seed}. "
                    f"It has: {', '.join(sorted(orders))}."
                )
            order, rank = (orders[key].astype(np.int64) for key in keys)
    except (OSError, ValueError, zipfile.BadZipFile) as cause:
        raise InputError(f"{path}: is not a readable .npz file of arrival orders.") from cause
    return order, rank


def pod_classes(pods: pd.DataFrame, kinds: Sequence[str]) -> Floats:
    """Return the commonest requests of a pod list, as the experiments count them."""
    return typical_classes(_asks(pods, kinds), _specs(pods).to_numpy())


def _specs(pods: pd.DataFrame) -> pd.Series:
    column = "attr_gpu_spec" if "attr_gpu_spec" in pods else "gpu_type"
    return pods[column].fillna("") if column in pods else pd.Series("", pods.index)


def _asks(pods: pd.DataFrame, kinds: Sequence[str]) -> Ints:
    asks = np.zeros((len(pods), ASK_COLUMNS), np.int64)
    gpus = pods["attr_num_gpu"].to_numpy(np.int64)
    milli = np.where(gpus > 0, pods["attr_gpu_milli"].to_numpy(np.int64), 0)
    asks[:, ASK_CPU] = np.round(1000 * pods["request_cpu_cores"].to_numpy(float))
    asks[:, ASK_MEMORY] = np.round(1024 * pods["request_memory_gib"].to_numpy(float))
    asks[:, ASK_GPUS], asks[:, ASK_MILLI] = gpus, milli
    asks[:, ASK_INSTANCES] = 1
    bits = {kind: 1 << place for place, kind in enumerate(kinds)}
    if "gpu_type" in pods:
        allowed = pods["gpu_type"].fillna("").to_numpy(str)
        asks[:, ASK_TYPES] = [_allowed(text, bits) for text in allowed]
    return asks


def _allowed(text: str, bits: Mapping[str, int]) -> int:
    """Return the allowed GPU types as bits: 0 for any, a type of no node if no node has one."""
    if not text:
        return 0
    return sum(bits.get(kind, 0) for kind in set(text.split("|"))) or 1 << 62
