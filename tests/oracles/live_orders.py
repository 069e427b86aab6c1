"""Who goes first, asked again: the keys of orders that move, as docs/explain/event-loop.md says."""

from __future__ import annotations

import math
from typing import Any

INF = math.inf


class Orders:
    """What the twin in live.py knows of keys; ``rules["order"]`` names the method."""

    jobs: list[dict[str, Any]]
    nodes: list[dict[str, Any]]
    rules: dict[str, Any]
    waiting: list[int]
    running: dict[int, dict[str, Any]]
    attempts: list[dict[str, Any]]
    keys: dict[int, Any]
    looked: float
    now: float
    origin: float

    def time_to_look(self) -> bool:
        if not self.rules["rekey"]:
            return True
        look = (self.now - self.origin) // self.rules["rekey"]
        fresh, self.looked = look > self.looked, look
        return fresh

    def find_keys(self, fresh: bool) -> None:
        """Ask for keys: of all, or between two looks of those who have none."""
        for number in [*self.waiting, *self.running]:
            if self.rules["order"] is None:
                self.keys[number] = self.jobs[number]["key"]
        if self.rules["order"] is None:
            return
        if self.rules["order"] == "multifactor" and fresh:
            self.factors = self.fair_tree() if self.rules["options"]["tree"] else self.classic()
        for number in [*self.waiting, *self.running]:
            if fresh or number not in self.keys:
                self.keys[number] = getattr(self, self.rules["order"])(self.jobs[number], number)

    def shortest_remaining(self, job: dict[str, Any], number: int) -> float:
        if number in self.running:
            useful = max(0.0, self.running[number]["done"] - job["overhead"])
            return float(job["left"] - useful)
        return float(job["left"])

    def least_attained(self, job: dict[str, Any], number: int) -> float:
        return float(job["attained"])

    def least_attained_gpu(self, job: dict[str, Any], number: int) -> float:
        gpus = job["gpus"] * job["milli"] / 1000 * job["instances"]
        return float(job["attained"] * (gpus or 1.0))

    def tiresias(self, job: dict[str, Any], number: int) -> tuple[bool, float]:
        threshold = self.rules["options"]["threshold"]
        return self.least_attained_gpu(job, number) >= threshold, job["submit"]

    def fair_share(self, job: dict[str, Any], number: int) -> float:
        return self.usage(job["user"]) / self.rules["users"][job["user"]][0]

    def dominant_share(self, job: dict[str, Any], number: int) -> float:
        mine = [self.jobs[n] for n in self.running if self.jobs[n]["user"] == job["user"]]
        largest = 0.0
        for what, unit in (("gpus", 1000), ("cpu", 1), ("memory", 1)):
            whole = sum(node[what] * unit for node in self.nodes)
            if whole:
                largest = max(largest, sum(amount(other, what) for other in mine) / whole)
        return largest / self.rules["users"][job["user"]][0]

    def multifactor(self, job: dict[str, Any], number: int) -> float:
        weights = self.rules["options"]
        age = min(1.0, (self.now - job["submit"]) / weights["max_age"])
        wide = min(1.0, job["instances"] / len(self.nodes))
        cores = min(1.0, amount(job, "cpu") / sum(node["cpu"] for node in self.nodes))
        priority = (
            weights["age"] * age
            + weights["fair_share"] * self.factors[job["user"]]
            + weights["size"] * (wide + cores) / 2
        )
        return -math.floor(priority)

    def usage(self, user: str) -> float:
        """Add up what all attempts of a user are charged, faded since."""
        total = 0.0
        for attempt in self.attempts:
            job = self.jobs[attempt["job"]]
            if job["user"] != user:
                continue
            begin, end = attempt["start"] - self.now, attempt.get("end", self.now) - self.now
            if self.rules["half_life"]:
                fade = math.log(2) / self.rules["half_life"]
                seconds = (math.exp(fade * end) - math.exp(fade * begin)) / fade
            else:
                seconds = end - begin
            total += job["charge"] * seconds
        return total

    def fair_tree(self) -> dict[str, float]:
        """Rank users from the top of the tree down, as the plugin's documentation says."""
        users, accounts = self.rules["users"], self.rules["accounts"]
        used = {user: self.usage(user) for user in users}
        of_account = {
            name: sum(used[user] for user in users if users[user][1] == name) for name in accounts
        }
        everybody = sum(used.values())
        top = [(name, share, of_account[name], True) for name, share in accounts.items()]
        top += [(u, share, used[u], False) for u, (share, above) in users.items() if above is None]

        def level(share: float, shares: float, mine: float, all_of_them: float) -> float:
            return share / shares * all_of_them / mine if mine and all_of_them else INF

        shares = sum(entry[1] for entry in top)
        ranked: list[tuple[tuple[float, ...], str]] = []
        for name, share, mine, is_account in top:
            here = level(share, shares, mine, everybody)
            if not is_account:
                # level with an account, a user stands beside the best of that account
                ranked.append(((here, INF), name))
                continue
            below = {u: s for u, (s, above) in users.items() if above == name}
            for user, own in below.items():
                ranked.append(((here, level(own, sum(below.values()), used[user], mine)), user))
        return {
            name: (len(ranked) - sum(other > path for other, _ in ranked)) / len(ranked)
            for path, name in ranked
        }

    def classic(self) -> dict[str, float]:
        users, accounts = self.rules["users"], self.rules["accounts"]
        used = {user: self.usage(user) for user in users}
        whole = sum(used.values())
        top = sum(accounts.values()) + sum(s for s, above in users.values() if above is None)
        factors = {}
        for user, (share, above) in users.items():
            mine = used[user] / whole if whole else 0.0
            if above is None:
                owned = share / top
            else:
                siblings = [u for u, (_, account) in users.items() if account == above]
                among = share / sum(users[u][0] for u in siblings)
                owned = among * accounts[above] / top
                of_account = sum(used[u] for u in siblings) / whole if whole else 0.0
                mine += (of_account - mine) * among
            factors[user] = 2 ** -(mine / owned)
        return factors


def amount(job: dict[str, Any], what: str) -> int:
    """Return what all instances of a job ask for together; GPUs in thousandths."""
    if what == "jobs":
        return 1
    return job[what] * job["instances"] * (job["milli"] if what == "gpus" else 1)
