"""The policies of a schedule study: orders by what is known, sharing, and where jobs go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI
from prophase.sim.workload import Workload

FIFO, ORACLE = "fifo", "shortest, true run times"
NO_SHARING = "fifo, whole GPUs only"
BALANCED, RESERVED = "fifo, load balancing", "fifo, reserving and packing"


@dataclass(frozen=True)
class Policy:
    """One row of the table.

    Attributes
    ----------
    kind : str
        ``order``, ``sharing`` or ``placing``: what differs from plain fifo.
    settings : mapping
        Arguments of ``sim.simulate``.
    """

    name: str
    kind: str
    settings: Mapping[str, Any]


def policies_of(
    columns: Mapping[str, str], workload: Workload, cluster: Cluster, base: Mapping[str, Any]
) -> Iterator[Policy]:
    """Yield what is compared: fifo first, then the oracle, the predictors, sharing and placing.

    The first predictor is tried in one more way: by response ratios, under which nobody is
    overtaken for ever.

    Parameters
    ----------
    columns : mapping
        Predictor -> column with its predictions.
    base : mapping
        Settings of all replays, such as the queue.
    """
    yield Policy(FIFO, "order", {**base, "order": "fifo"})
    yield Policy(ORACLE, "order", {**base, "order": "shortest"})
    for method, column in columns.items():
        yield Policy(predicted(method), "order", {**base, "order": f"column:{column}"})
    best = next(iter(columns), None)
    if best is not None:
        yield Policy(
            ratio(best), "order",
            {**base, "order": "response_ratio", "order_options": {"column": columns[best]}},
        )  # fmt: skip
    if not cluster.gpus or not (workload.asks[:, ASK_GPUS] > 0).any():
        return
    fractions = (workload.asks[:, ASK_GPUS] > 0) & (workload.asks[:, ASK_MILLI] < 1000)
    if fractions.any():
        yield Policy(NO_SHARING, "sharing", {**base, "order": "fifo", "share": "per_gpu=1"})
    yield Policy(BALANCED, "placing", {**base, "order": "fifo", "place": "worst_fit"})
    yield Policy(RESERVED, "placing", {**base, "order": "fifo", "place": "reserve_and_pack"})
    if best is not None:
        yield Policy(
            f"{predicted(best)}, reserving and packing",
            "placing",
            {**base, "order": f"column:{columns[best]}", "place": "reserve_and_pack"},
        )


def predicted(method: str) -> str:
    """Return what the order by a method's predictions is called."""
    return f"shortest, predicted by {method}"


def ratio(method: str) -> str:
    """Return what the order by response ratios is called."""
    return f"response ratio, predicted by {method}"
