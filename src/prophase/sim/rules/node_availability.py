"""When nodes are away: planned, failed, closed, or not booted by the autoscaler."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.kernels.dynamic.array_layout import DRAIN, LOSE, RETURN, Rules
from prophase.sim.rules.parsing import at_least, number_column
from prophase.sim.signatures import Floats, Ints


@dataclass(frozen=True)
class Failures:
    """Nodes fail and are repaired, each for itself, after exponential times."""

    mtbf_s: float
    mttr_s: float = 3600.0

    def __post_init__(self) -> None:
        at_least("failures mtbf_s", self.mtbf_s, 1)
        at_least("failures mttr_s", self.mttr_s, 0)

    def events(self, nodes: int, begin_s: float, end_s: float, seed: int) -> tuple[Floats, Ints]:
        """Draw failures and returns until ``end_s``; a later end only adds to them."""
        times: list[float] = []
        rows: list[tuple[int, int]] = []
        for node, stream in enumerate(np.random.SeedSequence(seed).spawn(nodes)):
            rng = np.random.default_rng(stream)
            now = begin_s
            while True:
                now += rng.exponential(self.mtbf_s)
                away = rng.exponential(self.mttr_s) if self.mttr_s else 0.0
                if now >= end_s:
                    break
                times += [now, now + away]
                rows += [(node, LOSE), (node, RETURN)]
                now += away
        return np.array(times), np.array(rows, np.int64).reshape(-1, 2)


def calendar_events(calendar: pd.DataFrame, cluster: Cluster) -> tuple[Floats, Ints]:
    """Turn a calendar into events.

    Parameters
    ----------
    calendar : DataFrame
        One row per absence: ``from_s``, ``to_s`` (empty: for good), and who: ``node_id``, or
        ``share`` of the nodes (0 to 1; the last ones of the list). ``lose`` (true or false):
        running jobs are stopped instead of running out.
    """
    who = {"node_id", "share"} & set(calendar.columns)
    if "from_s" not in calendar or len(who) != 1:
        raise InputError(
            "the calendar needs the columns from_s, to_s, and either node_id or share. "
            f"It has: {', '.join(map(str, calendar.columns))}."
        )
    number_column(calendar, "from_s", "calendar")
    if "to_s" in calendar:
        number_column(calendar, "to_s", "calendar", finite=False, missing=np.inf)
    if "share" in who:
        number_column(calendar, "share", "calendar", least=0, most=1)
    place = {str(name): row for row, name in enumerate(cluster.nodes["node_id"])}
    times: list[float] = []
    rows: list[tuple[int, int]] = []
    for line, row in enumerate(calendar.to_dict("records"), start=1):
        begin, end = float(row["from_s"]), float(row.get("to_s", np.nan))
        if not np.isfinite(begin) or end < begin:
            raise InputError(
                f"calendar line {line}: from {begin:g} to {end:g} is no time span. Give a to_s "
                "after from_s, or none for good."
            )
        if "share" in who:
            away = list(
                range(len(cluster) - round(float(row["share"]) * len(cluster)), len(cluster))
            )
        elif str(row["node_id"]) in place:
            away = [place[str(row["node_id"])]]
        else:
            raise InputError(
                f"calendar line {line}: the cluster has no node {row['node_id']!r}. "
                f"It has {', '.join(list(place)[:5])} ..."
            )
        kind = LOSE if str(row.get("lose", "")).lower() in ("1", "true", "yes", "1.0") else DRAIN
        for node in away:
            times.append(begin)
            rows.append((node, kind))
            if np.isfinite(end):
                times.append(end)
                rows.append((node, RETURN))
    return np.array(times), np.array(rows, np.int64).reshape(-1, 2)


def in_order(*parts: tuple[Floats, Ints]) -> tuple[Floats, Ints]:
    """Join events by time; at one instant nodes return before others leave."""
    times = np.concatenate([part[0] for part in parts])
    rows = np.concatenate([part[1] for part in parts])
    order = np.lexsort((rows[:, 0], rows[:, 1] != RETURN, times))
    return times[order], rows[order]


@dataclass(frozen=True)
class Absences:
    """Intervals in which a node did not belong to the cluster; those of a node do not overlap.

    What is absent is neither owned nor idle: utilisation, fragmentation and cost leave it out.
    """

    node: Ints
    from_s: Floats
    to_s: Floats


def find_absences(
    nodes: int, end_s: float, *, elastic_from: int, changes: list[tuple[float, int, int]]
) -> Absences | None:
    """Collect the intervals in which something kept a node away.

    Parameters
    ----------
    elastic_from : int
        Nodes from this one on begin switched off.
    changes : list of (time, node, 1 or -1)
        One more, or one less, reason for a node to be away.
    """
    away = [int(node >= elastic_from) for node in range(nodes)]
    since = [-math.inf] * nodes
    found: list[tuple[int, float, float]] = []
    for time, node, step in sorted(changes, key=lambda change: change[0]):
        before, away[node] = away[node], away[node] + step
        if before == 0 and away[node] == 1:
            since[node] = time
        elif before == 1 and away[node] == 0 and time > since[node]:
            found.append((node, since[node], time))
    found += [(node, since[node], math.inf) for node in range(nodes) if away[node] > 0]
    found = [(node, begin, min(end, end_s)) for node, begin, end in found if begin < end_s]
    if not found:
        return None
    table = np.array(found, np.float64)
    return Absences(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


@dataclass(frozen=True)
class Autoscaler:
    """The first ``floor`` nodes are always on; the others, up to the ceiling, come and go.

    Attributes
    ----------
    floor, ceiling : int
        Nodes that are always on, and at most on; the ceiling is the cluster if not given.
    boot_s : float
        From the decision to the first job on a new node.
    idle_s : float
        A node that has run nothing for so long is stopped.
    ahead : bool
        Nodes are booted, too, for jobs that are forecast to arrive within the boot time; see
        :func:`prophase.sim.rules.arrival_forecast.arrivals_ahead`.
    margin, every_s : float
        Standard deviations of the forecast count that are held ready beyond its mean; seconds
        between forecasts.
    """

    floor: int = 0
    ceiling: int | None = None
    boot_s: float = 300.0
    idle_s: float = 600.0
    ahead: bool = False
    margin: float = 1.0
    every_s: float = 300.0

    def __post_init__(self) -> None:
        at_least("autoscaler floor", self.floor, 0)
        at_least("autoscaler boot_s", self.boot_s, 0)
        at_least("autoscaler idle_s", self.idle_s, 1)
        at_least("autoscaler margin", self.margin, 0)
        at_least("autoscaler every_s", self.every_s, 1)
        if self.ceiling is not None and self.ceiling < max(self.floor, 1):
            raise ParameterError(
                f"autoscaler: the ceiling of {self.ceiling} nodes is below "
                f"{'the floor of ' + str(self.floor) if self.floor else 'one node'}."
            )

    def most_nodes(self, cluster: Cluster) -> int:
        """Return the nodes that can be on together; refuse more than the cluster has."""
        ceiling = len(cluster) if self.ceiling is None else self.ceiling
        if ceiling > len(cluster) or self.floor > len(cluster):
            raise ParameterError(
                f"autoscaler: {max(ceiling, self.floor)} nodes cannot be reached, the cluster "
                f"lists {len(cluster)}. Name a larger cluster; its first nodes are the floor."
            )
        return ceiling

    def add_to(self, rules: Rules) -> Rules:
        """Return the loop's rules with this one."""
        return rules._replace(
            elastic_from=self.floor,
            boot_s=self.boot_s,
            idle_s=self.idle_s,
        )
