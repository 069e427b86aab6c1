"""Nodes that are reserved: from one instant to another only some jobs may run on them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.plural import listed
from prophase.sim.cluster import Cluster
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

_OWNERS = ("user", "group", "queue")


@dataclass(frozen=True)
class Reservations:
    """One row per reservation: when, which nodes, and which jobs it is for."""

    from_s: Floats
    to_s: Floats
    #: reservations x nodes
    nodes: NDArray[np.bool_]
    #: reservations x jobs
    owners: NDArray[np.bool_]
    #: how long jobs may run, as far as a scheduler knows
    limit_s: Floats

    @classmethod
    def of(cls, table: pd.DataFrame, workload: Workload, cluster: Cluster) -> Reservations:
        """Take a table of reservations.

        Parameters
        ----------
        table : DataFrame
            ``from_s``, ``to_s``, which nodes (``node_id``, several joined by a space; or ``nodes``,
            a number: the last ones of the list) and for whom: ``user``, ``group`` or ``queue``.
        """
        owner = next((name for name in _OWNERS if name in table), None)
        if owner is None or not {"from_s", "to_s"} <= set(table.columns):
            raise InputError(
                "the table of reservations needs the columns from_s, to_s, node_id or nodes, and "
                f"user, group or queue. It has: {', '.join(map(str, table.columns))}."
            )
        if owner not in workload.jobs:
            raise InputError(f"reservations per {owner}: the job table has no column {owner}.")
        begin, end = (
            number_column(table, name, "reservations", finite=name == "from_s")
            for name in ("from_s", "to_s")
        )
        if not (end > begin).all() or not np.isfinite(begin).all():
            line = int(np.argmin((end > begin) & np.isfinite(begin)))
            raise InputError(
                f"reservation {line + 1}: from {begin[line]:g} to {end[line]:g} is no time span. "
                "Give a to_s after from_s."
            )
        if "nodes" in table:
            number_column(table, "nodes", "reservations", least=1, most=len(cluster), missing=0.0)
        of_job = workload.jobs[owner].fillna("").astype(str).to_numpy()
        limit = workload.jobs.get("time_limit_s", pd.Series(np.nan, workload.jobs.index))
        known = pd.to_numeric(limit, errors="coerce").to_numpy(np.float64)
        return cls(
            begin,
            end,
            np.array([_nodes(row, cluster) for row in table.to_dict("records")]),
            np.array([of_job == str(name) for name in table[owner]]),
            np.where(
                np.isfinite(known), np.maximum(known, workload.duration_s), workload.duration_s
            ),
        )

    def open_to(self, job: int, now: float) -> Ints:
        """Return the nodes on which a job may start now: not reserved for others while it runs."""
        closed = (self.from_s < now + self.limit_s[job]) & (self.to_s > now) & ~self.owners[:, job]
        return np.flatnonzero(~self.nodes[closed].any(axis=0))

    def unused(self) -> tuple[str, ...]:
        """Say which reservations are for somebody who submits no job, so that nobody uses them."""
        found = [str(row + 1) for row in np.flatnonzero(~self.owners.any(axis=1))]
        which = f"reservation{'' if len(found) == 1 else 's'} {listed(found)}"
        said = f"{which}: for somebody who submits no job here; the nodes stay empty"
        return (said,) if found else ()

    def kind(self, job: int) -> tuple[bytes, float]:
        """Return what jobs share that find the same nodes open."""
        return self.owners[:, job].tobytes(), float(self.limit_s[job])


def _nodes(row: Mapping[Hashable, Any], cluster: Cluster) -> NDArray[np.bool_]:
    """Return which nodes one reservation holds."""
    names = cluster.nodes["node_id"].astype(str).to_numpy()
    count, wanted = row.get("nodes"), row.get("node_id")
    if wanted is not None and not pd.isna(wanted):
        named = str(wanted).split()
        missing = sorted(set(named) - set(names))
        if missing:
            raise InputError(
                f"reservations: the cluster has no node {missing[0]!r}. It has "
                f"{', '.join(names[:5])} ..."
            )
        return np.isin(names, named)
    held = float(str(count)) if count is not None else np.nan
    if not 1 <= held <= len(names):
        raise InputError(
            f"reservations: nodes = {count} of {len(names):,}. Give node_id, or a number of nodes."
        )
    return np.arange(len(names)) >= len(names) - int(held)
