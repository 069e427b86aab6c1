"""Reservations of one pass: when and where will jobs fit, if run times are as believed?"""

from __future__ import annotations

import copy
import math
from typing import Any

from tests.oracles import replay as basic

INF = math.inf
#: stands in for a node that is away: nothing fits on it
_AWAY: dict[str, Any] = {"cpu": 0, "free": {"cpu": -1, "memory": -1}, "shares": []}


class Plan:
    """Believed ends and reservations of one pass."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.tried = 0
        #: (begin, end, job, used)
        self.reserved: list[tuple[float, float, int, list[tuple[int, list[int]]]]] = []
        self.instant: float | None = None
        #: when running jobs end; who is slowed by a start of this pass is believed to end as before
        self.ends: dict[int, float] = {}

    # one reservation, for the head

    def keep_for_head(self, head, number, used):  # type: ignore[no-untyped-def]
        """Return the places if the job may have them, else free them."""
        world = self.world
        job = world.jobs[number]
        if self.instant is None:
            basic.release(job, world.nodes, used, False)
            self.instant, self.future = self.instant_of(head)
            basic.take_again(job, world.nodes, used)
        if world.now + job["overhead"] + job["estimate"] <= self.instant:
            return used
        trial = copy.deepcopy(self.future)
        basic.take_again(job, trial, used)
        if fits(world.jobs[head], trial):
            self.future = trial
            return used
        basic.release(job, world.nodes, used, False)
        return None

    def instant_of(self, head: int) -> tuple[float, list[dict[str, Any]]]:
        world = self.world
        future = copy.deepcopy(world.nodes)
        if fits(world.jobs[head], future):
            return world.now, future
        for instant in sorted(set(self.ends.values())):
            for number, run in world.running.items():
                if self.ends[number] == instant:
                    basic.release(world.jobs[number], future, run["used"], False)
            if fits(world.jobs[head], future):
                return instant, future
        return INF, future

    def believe(self, number: int) -> None:
        self.ends[number] = max(self.world.running[number]["believed"], self.world.now)

    # reservations for all

    def nodes_at(self, instant: float) -> list[dict[str, Any]]:
        world = self.world
        nodes = copy.deepcopy(world.nodes)
        for number, run in world.running.items():
            if self.ends[number] <= instant:
                basic.release(world.jobs[number], nodes, run["used"], False)
        for begin, end, number, used in self.reserved:
            if begin <= instant < end:
                if world.rules["backfill"].get("whole_nodes"):
                    for node, _ in used:
                        nodes[node]["away"] += 1
                else:
                    basic.take_again(world.jobs[number], nodes, used)
        return nodes

    def throughout(self, begin: float, length: float, at_once: bool) -> list[dict[str, Any]]:
        """Return what each node has free from begin on for so long.

        Who should have ended already is believed to end now, but is still there.
        """
        low = copy.deepcopy(self.world.nodes) if at_once else self.nodes_at(begin)
        changes = {r[0] for r in self.reserved if begin <= r[0] < begin + length}
        for instant in changes:
            for node, then in zip(low, self.nodes_at(instant), strict=True):
                node["away"] = max(node["away"], then["away"])
                for what in ("cpu", "memory"):
                    node["free"][what] = min(node["free"][what], then["free"][what])
                both = zip(node["shares"], then["shares"], strict=True)
                node["shares"] = [min(pair) for pair in both]
        for node in low:
            # promised twice, by rounding: nothing is free, not less than nothing
            node["shares"] = [max(0, share) for share in node["shares"]]
        return low

    def place_in(self, nodes, number):  # type: ignore[no-untyped-def]
        world = self.world
        return basic.place(world.jobs[number], visible(nodes), world.rules["rating"], False, False)

    def length(self, number: int) -> float:
        job = self.world.jobs[number]
        return float(job["overhead"] + job["estimate"])

    def place_at_once(self, number: int):  # type: ignore[no-untyped-def]
        world = self.world
        low = self.throughout(world.now, self.length(number), True)
        used = self.place_in(low, number)
        if used is not None:
            basic.take_again(world.jobs[number], world.nodes, used)
        return used

    def reserve(self, number: int) -> None:
        world = self.world
        limits = world.rules["backfill"]
        if self.tried >= (limits.get("depth") or INF):
            return
        self.tried += 1
        instants = set(self.ends.values())
        instants |= {time for r in self.reserved for time in r[:2]}
        for instant in sorted(instants):
            if instant > world.now + (limits.get("window") or INF):
                return
            used = self.place_in(self.throughout(instant, self.length(number), False), number)
            if used is not None:
                begin, end = instant, instant + self.length(number)
                if step := limits.get("resolution"):
                    begin = max(world.now, begin // step * step)
                    end = end // step * step
                self.reserved.append((begin, end, number, used))
                return


def fits(job: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    return basic.place(job, visible(copy.deepcopy(nodes)), "first_fit", False, False) is not None


def visible(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node if node["state"] == "ready" and node["away"] <= 0 else _AWAY for node in nodes]
