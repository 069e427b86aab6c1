"""A replay with all its rules, as docs/explain/event-loop.md tells it: dictionaries and lists.

Everything is worked out again at every instant from what is known: usage from the list of all
attempts, speeds from who lies on which GPU, plans from copies of the nodes.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from tests.oracles import live_orders as orders
from tests.oracles import live_plan as plans

basic, fits, visible, amount = plans.basic, plans.fits, plans.visible, orders.amount
INF = math.inf

RULES: dict[str, Any] = {
    "queue": "skip",
    "rating": "first_fit",
    "order": None,
    "options": {},
    "half_life": 0.0,
    #: user -> (share, account or None); account -> share
    "users": {},
    "accounts": {},
    "rekey": 0.0,
    #: checkpoint, restart, min_run, every
    "preempt": None,
    #: every, depth, per_user, window, whole_nodes, resolution, clock
    "backfill": {},
    #: factor that a neighbour of one kind leaves to another: {(kind, neighbour): factor}
    "pairs": None,
    #: {(kind, GPU type): speed}
    "speeds": None,
    #: floor, boot, idle
    "scaling": None,
    #: (time, node, "lose" | "drain" | "return")
    "outages": [],
    #: {("user" | "queue", name): {"gpus" (thousandths), "cpu", "memory" or "jobs": limit}}
    "quotas": {},
}


def replay(jobs: list[dict[str, Any]], nodes: list[dict[str, Any]], **rules: Any) -> Live:
    """Return what happened: every attempt in the order of starts, and the nodes' switches.

    A job is a dictionary with submit, work, estimate, key, cpu, memory, gpus, milli, instances,
    user, queue, kind, and rungs: its (memory, work) attempt by attempt. A node has cpu, memory,
    gpus and type.
    """
    world = Live(jobs, nodes, {**RULES, **rules})
    world.run()
    return world


class Live(orders.Orders):  # type: ignore[misc,name-defined]
    def __init__(self, jobs, nodes, rules):  # type: ignore[no-untyped-def]
        self.jobs = [
            {**job, "rung": 0, "left": job["rungs"][0][1], "overhead": 0.0, "attained": 0.0}
            for job in jobs
        ]
        for job in self.jobs:
            job["memory"] = job["rungs"][0][0]
        self.nodes = copy.deepcopy(nodes)
        self.rules = rules
        self.clock = rules["backfill"].get("every", 0.0)
        if rules["preempt"]:
            self.clock = rules["preempt"].get("every", 0.0)
        self.origin = jobs[0]["submit"] - rules["backfill"].get("clock", 0.0)
        self.waiting: list[int] = []
        self.running: dict[int, dict[str, Any]] = {}
        self.attempts: list[dict[str, Any]] = []
        self.keys: dict[int, float] = {}
        self.looked = -1.0
        self.arriving = list(range(len(jobs)))
        leaves = {"return": 0, "lose": 1, "drain": 1}
        self.outages = sorted(rules["outages"], key=lambda o: (o[0], leaves[o[2]], o[1]))
        floor = rules["scaling"]["floor"] if rules["scaling"] else len(nodes)
        for number, node in enumerate(self.nodes):
            node["free"] = {"cpu": node["cpu"], "memory": node["memory"]}
            node["shares"] = [1000] * node["gpus"]
            node["away"] = 0
            node["elastic"] = number >= floor
            node["state"] = "stopped" if node["elastic"] else "ready"
            node["ready_at"] = node["idle_since"] = INF
        self.now = jobs[0]["submit"]
        self.hopeless = False
        #: (time, node, 1 or 0): an elastic node is paid for from then on, or no longer
        self.switches: list[tuple[float, int, int]] = []

    # one instant after the other

    def run(self) -> None:
        while self.arriving or self.running or self.waiting:
            now, by_clock = self.next_instant()
            if now is None:
                break
            self.advance(now)
            self.end_attempts()
            self.move_nodes()
            self.elastic_nodes()
            while self.arriving and self.jobs[self.arriving[0]]["submit"] <= now:
                self.join(self.arriving.pop(0))
            if self.waiting:
                queue = self.rules["queue"]
                if self.rules["backfill"].get("every", 0.0) and not by_clock:
                    queue = "strict"
                fresh = self.time_to_look()
                started, pushed_out = self.one_pass(queue, fresh, True)
                if pushed_out:
                    started += self.one_pass(queue, fresh, False)[0]
                self.hopeless = started == 0 and queue == self.rules["queue"]
            self.scale()

    def next_instant(self):  # type: ignore[no-untyped-def]
        coming = [self.end_of(job) for job in self.running]
        coming += [self.jobs[self.arriving[0]]["submit"]] if self.arriving else []
        coming += [n["ready_at"] for n in self.nodes if n["state"] == "booting"]
        if self.waiting and self.outages:
            coming.append(self.outages[0][0])
        if not coming and (self.hopeless or not self.clock):
            return None, False
        coming += [self.outages[0][0]] if self.outages else []
        coming += [
            n["idle_since"] + self.rules["scaling"]["idle"]
            for number, n in enumerate(self.nodes)
            if n["elastic"] and n["state"] == "ready" and not self.held(number)
        ]
        soonest = min(coming, default=INF)
        if self.clock and self.waiting:
            ticks = 0
            while self.origin + ticks * self.clock <= self.now:
                ticks += 1
            tick = self.origin + ticks * self.clock
            if tick <= soonest:
                return tick, True
        return soonest, False

    def advance(self, now: float) -> None:
        for number, run in self.running.items():
            run["done"] += (now - self.now) * run["speed"]
            self.jobs[number]["attained"] += now - self.now
        self.now = now

    def end_of(self, number: int) -> float:
        run = self.running[number]
        return self.now + (run["need"] - run["done"]) / run["speed"]

    def end_attempts(self) -> None:
        # an end may let a neighbour's come at once, so ask again after each
        while due := [
            n for n in self.running if self.running[n]["need"] <= self.running[n]["done"]
        ]:
            number = min(due)
            job = self.jobs[number]
            last = job["rung"] + 1 == len(job["rungs"])
            self.stop(number, "finished" if last else "out_of_memory")
            if not last:
                job["rung"] += 1
                job["memory"], job["left"] = job["rungs"][job["rung"]]
                job["overhead"] = 0.0
                self.join(number)

    def move_nodes(self) -> None:
        while self.outages and self.outages[0][0] <= self.now:
            _, node, what = self.outages.pop(0)
            self.nodes[node]["away"] += -1 if what == "return" else 1
            if what == "lose":
                for number in [n for n, run in self.running.items() if on(run["used"], node)]:
                    self.stop(number, "node_lost")
                    self.join(number)

    def elastic_nodes(self) -> None:
        for number, node in enumerate(self.nodes):
            if node["state"] == "booting" and node["ready_at"] <= self.now:
                node["state"], node["ready_at"], node["idle_since"] = "ready", INF, self.now
            empty = node["elastic"] and node["state"] == "ready" and not self.held(number)
            if empty and node["idle_since"] + self.rules["scaling"]["idle"] <= self.now:
                node["state"] = "stopped"
                self.switches.append((self.now, number, 0))

    def held(self, node: int) -> bool:
        return any(on(run["used"], node) for run in self.running.values())

    def join(self, number: int) -> None:
        self.waiting.append(number)
        self.keys.pop(number, None)

    # a pass

    def one_pass(self, queue: str, fresh: bool, may_push_out: bool) -> tuple[int, int]:
        self.find_keys(fresh)
        line = self.in_order()
        started, pushed_out, looked_at = 0, [], {}
        head, plan = None, plans.Plan(self)
        while line:
            number = line.pop(0)
            job = self.jobs[number]
            if self.over_quota(number):
                continue
            if head is not None and queue in ("easy", "conservative"):
                looked_at[job["user"]] = looked_at.get(job["user"], 0) + 1
                if looked_at[job["user"]] > (self.rules["backfill"].get("per_user") or INF):
                    continue
            used = basic.place(job, visible(self.nodes), self.rules["rating"], False, False)
            if used is None and may_push_out and self.rules["preempt"]:
                for victim in self.in_the_way(number):
                    self.stop(victim, "preempted")
                    pushed_out.append(victim)
                used = basic.place(job, visible(self.nodes), self.rules["rating"], False, False)
            if used is not None and head is not None and queue == "easy":
                used = plan.keep_for_head(head, number, used)
            if used is not None and head is not None and queue == "conservative":
                basic.release(job, self.nodes, used, False)
                used = plan.place_at_once(number)
            if used is not None:
                self.start(number, used)
                plan.believe(number)
                started += 1
                if self.rules["order"] == "dominant_share":
                    self.find_keys(True)
                    line, looked_at = self.in_order(), {}
                continue
            if queue == "strict":
                break
            if head is None:
                head = number
                for other in self.running:
                    plan.believe(other)
                looked_at[job["user"]] = looked_at.get(job["user"], 0) + 1
            if queue == "conservative":
                plan.reserve(number)
        for victim in pushed_out:
            self.join(victim)
        return started, len(pushed_out)

    def in_order(self) -> list[int]:
        return sorted(self.waiting, key=lambda number: (self.keys[number], number))

    def in_the_way(self, number: int) -> list[int]:
        """Return who has to go so that the job fits."""
        sure = self.rules["preempt"].get("min_run", 0.0)
        later = [
            other
            for other, run in self.running.items()
            if self.keys[other] > self.keys[number] and self.now - run["start"] >= sure
        ]
        later.sort(key=lambda other: (self.keys[other], other), reverse=True)
        nodes, gone = copy.deepcopy(self.nodes), []
        for victim in later:
            if fits(self.jobs[number], nodes):
                break
            basic.release(self.jobs[victim], nodes, self.running[victim]["used"], False)
            gone.append(victim)
        if not fits(self.jobs[number], nodes):
            return []
        for victim in reversed(list(gone)):
            trial = copy.deepcopy(nodes)
            basic.take_again(self.jobs[victim], trial, self.running[victim]["used"])
            if fits(self.jobs[number], trial):
                nodes = trial
                gone.remove(victim)
        return gone

    def start(self, number: int, used: list[tuple[int, list[int]]]) -> None:
        job = self.jobs[number]
        self.waiting.remove(number)
        attempt = {"job": number, "start": self.now, "used": used, "rung": job["rung"]}
        self.attempts.append(attempt)
        self.running[number] = {
            "start": self.now,
            "used": used,
            "need": job["overhead"] + job["left"],
            "done": 0.0,
            "speed": 1.0,
            "attempt": attempt,
        }
        self.pace()
        run = self.running[number]
        run["believed"] = self.now + (job["overhead"] + job["estimate"]) / run["speed"]

    def stop(self, number: int, outcome: str) -> None:
        job, run = self.jobs[number], self.running.pop(number)
        basic.release(job, self.nodes, run["used"], False)
        for node, _ in run["used"]:
            self.nodes[node]["idle_since"] = self.now
        useful = max(0.0, run["done"] - job["overhead"])
        if outcome == "finished":
            kept = useful
        elif outcome == "out_of_memory":
            kept = 0.0
        else:
            apart = self.rules["preempt"]["checkpoint"] if self.rules["preempt"] else INF
            kept = useful if apart == 0 else 0.0 if apart == INF else useful // apart * apart
            job["left"] -= kept
            job["estimate"] = max(0.0, job["estimate"] - kept)
            job["overhead"] = self.rules["preempt"]["restart"] if self.rules["preempt"] else 0.0
        length = self.now - run["start"]
        lost = length * (run["done"] - kept) / run["done"] if run["done"] else 0.0
        run["attempt"].update(end=self.now, outcome=outcome, lost=lost)
        if outcome == "out_of_memory":
            # what earlier attempts had saved was for nothing
            for one in [a for a in self.attempts if a["job"] == number]:
                one["lost"] = one["end"] - one["start"]
        self.pace()

    def pace(self) -> None:
        """Give every running job the speed its GPUs allow, and move what is believed with it."""
        for number, run in self.running.items():
            speed = self.speed_of(number)
            if "believed" in run:
                run["believed"] = self.now + (run["believed"] - self.now) * run["speed"] / speed
            run["speed"] = speed

    def speed_of(self, number: int) -> float:
        kind = self.jobs[number]["kind"]
        slowest = INF
        for node, gpus in self.running[number]["used"]:
            speed = 1.0
            if gpus and self.rules["speeds"] is not None:
                speed = self.rules["speeds"][kind, self.nodes[node]["type"]]
            slowest = min(slowest, speed) if not gpus else slowest
            for gpu in gpus:
                shared = speed
                for other, run in self.running.items():
                    for where, theirs in run["used"] if other != number else []:
                        if self.rules["pairs"] is not None and where == node and gpu in theirs:
                            shared *= self.rules["pairs"][kind, self.jobs[other]["kind"]]
                slowest = min(slowest, shared)
        return slowest

    def over_quota(self, number: int) -> bool:
        job = self.jobs[number]
        for scope in ("user", "queue"):
            limits = self.rules["quotas"].get((scope, job[scope]), {})
            same = [self.jobs[n] for n in self.running if self.jobs[n][scope] == job[scope]]
            for what, limit in limits.items():
                if sum(amount(other, what) for other in [*same, job]) > limit:
                    return True
        return False

    # an autoscaler

    def scale(self) -> None:
        if not self.rules["scaling"]:
            return
        counted_on = set()
        empty = copy.deepcopy(self.nodes)
        for number in self.in_order() if self.waiting else []:
            if self.over_quota(number):
                continue
            job = self.jobs[number]
            for _ in range(job["instances"]):
                chosen = None
                for stage in ("ready", "booting", "stopped"):
                    for place, node in enumerate(empty):
                        able = node["state"] == stage and not node["away"]
                        if (
                            able
                            and chosen is None
                            and basic.free_gpus(job, node, False) is not None
                        ):
                            chosen = place
                if chosen is None:
                    break
                basic.take_again(job, empty, [(chosen, basic.free_gpus(job, empty[chosen], False))])
                counted_on.add(chosen)
        for number, node in enumerate(self.nodes):
            if number in counted_on and node["state"] == "stopped":
                node["state"], node["ready_at"] = (
                    "booting",
                    self.now + self.rules["scaling"]["boot"],
                )
                self.switches.append((self.now, number, 1))
            elif number in counted_on and node["state"] == "ready":
                node["idle_since"] = INF
            elif node["idle_since"] == INF and node["state"] == "ready" and node["elastic"]:
                node["idle_since"] = self.now


def on(used: list[tuple[int, list[int]]], node: int) -> bool:
    return any(where == node for where, _ in used)
