"""When nodes are away: planned (they run out first) or failed (their jobs start again)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.cluster import Cluster
from prophase.sim.kernels.live.rules import DRAIN, LOSE, RETURN
from prophase.sim.rules.numbers import at_least
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
    place = {str(name): row for row, name in enumerate(cluster.nodes["node_id"])}
    times: list[float] = []
    rows: list[tuple[int, int]] = []
    for line, row in enumerate(calendar.to_dict("records"), start=1):
        begin, end = float(row["from_s"]), float(row.get("to_s", np.nan))
        if not np.isfinite(begin) or end < begin:
            raise InputError(f"calendar line {line}: from {begin:g} to {end:g} is no time span.")
        if "share" in who:
            if not 0 <= row["share"] <= 1:
                raise InputError(f"calendar line {line}: share {row['share']} is not in 0 to 1.")
            away = list(range(len(cluster) - round(row["share"] * len(cluster)), len(cluster)))
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
