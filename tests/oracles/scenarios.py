"""Random workloads, clusters and rules, told twice: to ``simulate`` and to its slow twin.

Times are whole seconds and speeds powers of two, so that both calculate without rounding and
ties are ties for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from prophase.sim import Cluster, Workload
from prophase.sim.rules.backfill import Backfill
from prophase.sim.rules.node_availability import Autoscaler
from prophase.sim.rules.preemption import Preemption
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.rules.speed_and_sharing import Sharing, Speeds

USERS, QUEUES, KINDS, TYPES = ("ann", "bob", "cyd"), ("p", "q"), ("x", "y"), ("A", "B")
#: no two sums of these are alike, so that usage over share ties only where nobody used anything
SHARES = {"ann": (1.0, None), "bob": (1.37, "lab"), "cyd": (0.71, "lab")}
ACCOUNTS = {"lab": 1.9}
SHARE_TABLE = pd.DataFrame(
    {
        "account": ["lab", None, "lab", "lab"],
        "user": [None, "ann", "bob", "cyd"],
        "share": [1.9, 1.0, 1.37, 0.71],
    }
)
MOVING = (
    "shortest_remaining",
    "least_attained",
    "least_attained_gpu",
    "tiresias",
    "fair_share",
    "dominant_share",
    "multifactor",
)


@dataclass
class Scenario:
    """One replay in both forms."""

    jobs: list[dict[str, Any]]
    nodes: list[dict[str, Any]]
    #: settings of ``simulate``
    settings: dict[str, Any] = field(default_factory=dict)
    #: rules of the twin
    rules: dict[str, Any] = field(default_factory=dict)

    def workload(self) -> Workload:
        jobs = self.jobs
        table = pd.DataFrame(
            {
                "job_id": [f"j{i:03d}" for i in range(len(jobs))],
                "submit_s": [float(job["submit"]) for job in jobs],
                "duration_s": [float(job["work"]) for job in jobs],
                "guess_s": [float(job["guess"]) for job in jobs],
                "own_key": [float(job["key"]) for job in jobs],
                "request_gpus": [job["gpus"] * job["milli"] / 1000 for job in jobs],
                "request_cpu_cores": [job["cpu"] / 1000 for job in jobs],
                "request_memory_gib": [job["memory"] / 1024 for job in jobs],
                "memory_peak_gib": [job["peak"] / 1024 for job in jobs],
                "instances": [float(job["instances"]) for job in jobs],
                **{name: [job[name] for job in jobs] for name in ("user", "queue")},
                "task": [job["kind"] for job in jobs],
            }
        )
        return Workload.from_jobs(table)

    def cluster(self) -> Cluster:
        return Cluster.from_nodes(
            pd.DataFrame(
                {
                    "node_id": [f"n{i}" for i in range(len(self.nodes))],
                    "gpus": [float(node["gpus"]) for node in self.nodes],
                    "gpu_type": [node["type"] for node in self.nodes],
                    "cpu_cores": [node["cpu"] / 1000 for node in self.nodes],
                    "memory_gib": [node["memory"] / 1024 for node in self.nodes],
                }
            )
        )


@st.composite
def scenarios(draw: st.DrawFn, *rules: Any, most_jobs: int = 14, longest: int = 12) -> Scenario:
    """Draw jobs and nodes, and let each rule add to them in turn."""
    # the first node is large enough for every job, so that none is left out
    nodes = [{"cpu": 18_000, "memory": 18 * 1024, "gpus": 4, "type": draw(st.sampled_from(TYPES))}]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2, 3]))):
        nodes.append(
            {
                "cpu": 1000 * draw(st.integers(2, 12)),
                "memory": 1024 * draw(st.integers(2, 12)),
                "gpus": draw(st.integers(0, 3)),
                "type": draw(st.sampled_from(TYPES)),
            }
        )
    count = draw(st.integers(2, most_jobs))
    # often a crowd: plans matter when many wait
    latest = draw(st.sampled_from([0, 6, 25]))
    submit = sorted(draw(st.lists(st.integers(0, latest), min_size=count, max_size=count)))
    jobs = [_job(draw, moment, longest) for moment in submit]
    scenario = Scenario(jobs, nodes)
    scenario.settings["place"] = draw(st.sampled_from(["first_fit", "best_fit"]))
    scenario.rules["rating"] = scenario.settings["place"]
    for rule in rules:
        rule(draw, scenario)
    by_gpu = scenario.rules.get("order") != "multifactor" and any(job["gpus"] for job in jobs)
    for job in jobs:
        gpus = job["gpus"] * job["milli"] / 1000
        job["charge"] = (gpus if by_gpu else job["cpu"] / 1000) * job["instances"]
    return scenario


def _job(draw: st.DrawFn, submit: int, longest: int) -> dict[str, Any]:
    gpus, milli = draw(st.sampled_from([(0, 0), (1, 250), (1, 500), (1, 1000), (2, 1000)]))
    memory = draw(st.integers(0, 6))
    work = draw(st.integers(0, longest))
    return {
        "submit": submit,
        "work": work,
        "guess": work + draw(st.sampled_from([0, 0, 1, 5, 20])),
        "estimate": work,
        "key": draw(st.integers(0, 3)),
        "cpu": 1000 * draw(st.integers(0, 6)),
        "memory": 1024 * memory,
        "peak": 1024 * memory,
        "rungs": [(1024 * memory, work)],
        "gpus": gpus,
        "milli": milli,
        "instances": draw(st.integers(1, 2 if gpus == 2 else 3)),
        "user": draw(st.sampled_from(USERS)),
        "queue": draw(st.sampled_from(QUEUES)),
        "kind": draw(st.sampled_from(KINDS)),
    }


def queue(draw: st.DrawFn, scenario: Scenario) -> None:
    scenario.settings["queue"] = scenario.rules["queue"] = draw(st.sampled_from(["skip", "strict"]))


def static_order(draw: st.DrawFn, scenario: Scenario) -> None:
    scenario.settings["order"] = "column:own_key"


def any_order(draw: st.DrawFn, scenario: Scenario) -> None:
    if draw(st.booleans()):
        moving_order(draw, scenario)
    else:
        static_order(draw, scenario)


def moving_order(draw: st.DrawFn, scenario: Scenario) -> None:
    known = [
        name
        for name in MOVING
        if name != "dominant_share" or scenario.settings.get("queue") != "conservative"
    ]
    _set_order(draw, scenario, draw(st.sampled_from(known)))


def dominant_share(draw: st.DrawFn, scenario: Scenario) -> None:
    _set_order(draw, scenario, "dominant_share")


def multifactor(draw: st.DrawFn, scenario: Scenario) -> None:
    _set_order(draw, scenario, "multifactor")


def _set_order(draw: st.DrawFn, scenario: Scenario, order: str) -> None:
    options: dict[str, Any] = {}
    rules = scenario.rules
    rules["order"], rules["users"], rules["accounts"] = order, SHARES, ACCOUNTS
    rules["half_life"] = draw(st.sampled_from([0.0, 7.0, 40.0]))
    if order == "tiresias":
        rules["options"] = {"threshold": 6.0}
        options = {"threshold_gpu_s": 6.0}
    if order == "multifactor":
        tree, rules["rekey"] = draw(st.booleans()), draw(st.sampled_from([0.0, 8.0]))
        weights = {
            "age": 1000.0,
            "fair_share": 10_000.0,
            "size": draw(st.sampled_from([0.0, 900.0])),
        }
        rules["options"] = {**weights, "max_age": 64.0, "tree": tree}
        options = {**weights, "max_age_s": 64.0, "fair_tree": tree, "rekey_s": rules["rekey"]}
    elif draw(st.booleans()):
        options["rekey_s"] = rules["rekey"] = draw(st.sampled_from([3.0, 10.0]))
    scenario.settings |= {
        "order": order,
        "order_options": options,
        "half_life_s": rules["half_life"],
        "shares": SHARE_TABLE,
    }


def planning(draw: st.DrawFn, scenario: Scenario) -> None:
    """Backfill, with run times believed too long or, by noise, too short."""
    easy = scenario.settings.get("order") == "dominant_share"
    name = draw(st.sampled_from(["easy"] if easy else ["easy", "conservative", "conservative"]))
    noise, seed = draw(st.sampled_from([0.0, 0.0, 1.0])), draw(st.integers(0, 3))
    believed = np.array([float(max(job["work"], job["guess"])) for job in scenario.jobs])
    if noise:
        believed = believed * np.random.default_rng(seed).lognormal(0.0, noise, len(believed))
    for job, estimate in zip(scenario.jobs, believed, strict=True):
        job["estimate"] = float(estimate)
    limits: dict[str, Any] = {"per_user": draw(st.sampled_from([0, 0, 1, 2]))}
    limits["every"] = draw(st.sampled_from([0.0, 0.0, 4.0]))
    limits["clock"] = draw(st.sampled_from([0.0, 3.0]))
    if name == "conservative":
        limits["depth"] = draw(st.sampled_from([float("inf"), 1, 2]))
        limits["window"] = draw(st.sampled_from([float("inf"), 6.0, 15.0]))
        limits["whole_nodes"] = draw(st.booleans())
        limits["resolution"] = draw(st.sampled_from([0.0, 0.0, 4.0]))
    scenario.rules["backfill"] = limits
    scenario.rules["queue"] = name
    timed = {word + ("_s" if word in _TIMED else ""): value for word, value in limits.items()}
    scenario.settings |= {
        "queue": name,
        "estimate": "guess_s",
        "noise": noise,
        "seed": seed,
        "backfill": Backfill(**timed),
    }


_TIMED = ("every", "window", "resolution", "clock")


def preemption(draw: st.DrawFn, scenario: Scenario) -> None:
    checkpoint = draw(st.sampled_from([0.0, 2.0, float("inf")]))
    restart = draw(st.sampled_from([0.0, 1.0]))
    every = draw(st.sampled_from([0.0, 3.0]))
    min_run = draw(st.sampled_from([0.0, 4.0]))
    if every and checkpoint < float("inf"):
        # or jobs push each other out for ever without getting on
        min_run = max(min_run, checkpoint + restart + 1.0)
    elif every:
        every = 0.0
    limits = {"checkpoint": checkpoint, "restart": restart, "min_run": min_run, "every": every}
    scenario.rules["preempt"] = limits
    scenario.settings["preempt"] = Preemption(checkpoint, restart, min_run, every)


def sharing(draw: st.DrawFn, scenario: Scenario) -> None:
    """Neighbours leave half or a quarter of a GPU's speed; types differ by powers of two."""
    pairs = {(one, other): 0.5 for one in KINDS for other in KINDS} | {("x", "y"): 0.25}
    table = pd.DataFrame({"kind": ["x"], "neighbour": ["y"], "speed": [0.25]})
    scenario.rules["pairs"] = pairs
    scenario.settings["share"] = Sharing(slowdown=1.0, table=table)


def speeds(draw: st.DrawFn, scenario: Scenario) -> None:
    speeds = {("x", "A"): 1.0, ("x", "B"): 2.0, ("y", "A"): 0.5, ("y", "B"): 2.0}
    scenario.rules["speeds"] = speeds
    table = pd.DataFrame(
        {"kind": ["*", "y", None], "gpu_type": ["A", "A", "B"], "speed": [1.0, 0.5, 2.0]}
    )
    scenario.settings["speeds"] = Speeds(table)


def ladder(draw: st.DrawFn, scenario: Scenario) -> None:
    for job in scenario.jobs:
        first, peak = job["memory"], 1024 * draw(st.integers(0, 6))
        job["peak"] = peak
        rungs = [first or peak]
        while rungs[-1] < peak:
            rungs.append(max(rungs[-1] * 2, rungs[-1] + 1))
        job["rungs"] = [(memory, job["work"] * 0.5) for memory in rungs[:-1]]
        job["rungs"].append((rungs[-1], job["work"]))
        # the last rung may be higher than a third of the largest node: fewer instances
        job["instances"] = 1 if rungs[-1] > 6 * 1024 else job["instances"]
    scenario.settings["ladder"] = Ladder()


def quotas(draw: st.DrawFn, scenario: Scenario) -> None:
    most = max(job["instances"] * job["cpu"] for job in scenario.jobs) // 1000
    cores = most + draw(st.integers(0, 4))
    limits = {
        ("user", "ann"): {"jobs": draw(st.integers(1, 2))},
        ("user", "bob"): {"cpu": 1000 * cores, "gpus": 4000},
        ("user", "cyd"): {"cpu": 1000 * cores, "gpus": 4000},
        ("queue", "q"): {"jobs": draw(st.integers(1, 3))},
    }
    table = pd.DataFrame(
        {
            "user": ["ann", "*", None],
            "queue": [None, None, "q"],
            "jobs": [limits["user", "ann"]["jobs"], None, limits["queue", "q"]["jobs"]],
            "cpu_cores": [None, cores, None],
            "gpus": [None, 4.0, None],
        }
    )
    scenario.rules["quotas"], scenario.settings["quotas"] = limits, table


def scaling(draw: st.DrawFn, scenario: Scenario) -> None:
    limits = {
        "floor": draw(st.integers(0, len(scenario.nodes))),
        "boot": float(draw(st.sampled_from([0, 2, 7]))),
        "idle": float(draw(st.sampled_from([1, 3, 9]))),
    }
    scenario.rules["scaling"] = limits
    scenario.settings["scaling"] = Autoscaler(limits["floor"], None, limits["boot"], limits["idle"])


def outages(draw: st.DrawFn, scenario: Scenario) -> None:
    rows, events = [], []
    for _ in range(draw(st.integers(1, 4))):
        node = draw(st.integers(0, len(scenario.nodes) - 1))
        begin, length = draw(st.integers(0, 30)), draw(st.integers(0, 8))
        lose = draw(st.booleans())
        rows.append((f"n{node}", float(begin), float(begin + length), lose))
        events.append((float(begin), node, "lose" if lose else "drain"))
        events.append((float(begin + length), node, "return"))
    scenario.rules["outages"] = events
    scenario.settings["calendar"] = pd.DataFrame(
        rows, columns=["node_id", "from_s", "to_s", "lose"]
    )
