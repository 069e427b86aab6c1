"""The real kube-scheduler and our placements, decision by decision.

Pods are created one after the other on nodes of several kinds, and never end. kube-scheduler draws
lots among nodes with equal scores, so our own replay, which takes the first of them, may come to
another cluster after the first tie. Therefore each real decision is judged in the state that the
decisions before it have led to: a pod went to one of the nodes that our placement rates highest, or
to none where no node has room by our rules.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from tools.kubernetes_referee import KubernetesReferee, KubernetesSite

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.stepwise import instants, open_state

#: placement -> strategy of NodeResourcesFit
STRATEGIES = {"least_allocated": "LeastAllocated", "most_allocated": "MostAllocated"}
#: cores, memory in GiB and GPUs of nodes
KINDS = ((32, 128, 4), (64, 256, 8), (96, 384, 8), (48, 96, 0))
_RESOURCES = [{"name": name, "weight": 1} for name in ("cpu", "memory", "nvidia.com/gpu")]


def site() -> KubernetesSite:
    """Return a control plane without nodes whose scheduler has a profile per strategy."""
    profiles = [
        {
            "schedulerName": name.replace("_", "-"),
            "plugins": {
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
            },
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": kind, "resources": _RESOURCES}},
                }
            ],
        }
        for name, kind in STRATEGIES.items()
    ]
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"percentageOfNodesToScore: 100\nprofiles: {json.dumps(profiles)}\n"
    )
    return KubernetesSite(nodes=0, scheduler=text)


def nodes_of(count: int) -> pd.DataFrame:
    """Return nodes of all kinds in turn."""
    kinds = [KINDS[place % len(KINDS)] for place in range(count)]
    table = pd.DataFrame(kinds, columns=["cpu_cores", "memory_gib", "gpus"], dtype=float)
    return table.assign(node_id=[f"n{place:03d}" for place in range(count)])


def pods_of(seed: int, count: int) -> pd.DataFrame:
    """Return pods with and without GPUs, more than the nodes can hold."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([0, 1, 2, 4, 8], count, p=[0.35, 0.3, 0.2, 0.1, 0.05])
    cores = np.round(rng.uniform(1, 6, count) * (1 + gpus / 2), 1)
    memory = np.round(rng.lognormal(2.2, 0.7, count) * (1 + gpus / 2), 2)
    return pd.DataFrame(
        {
            "job_id": [f"p{place:04d}" for place in range(count)],
            "submit_s": 0.0,
            # nobody ends while others wait
            "duration_s": 1e6,
            "request_cpu_cores": cores,
            # in whole MiB, as both sides count it
            "request_memory_gib": np.ceil(memory * 1024) / 1024,
            "request_gpus": gpus.astype(float),
        }
    )


def add_nodes(kube: KubernetesReferee, nodes: pd.DataFrame) -> None:
    """Bring nodes into a control plane, and wait until pods can go there."""
    made = []
    for one in nodes.itertuples():
        has = {"cpu": str(int(one.cpu_cores)), "memory": f"{int(one.memory_gib)}Gi", "pods": "500"}
        if one.gpus:
            has["nvidia.com/gpu"] = str(int(one.gpus))
        status = {"capacity": has, "allocatable": has}
        about = {"name": one.node_id}
        made.append({"apiVersion": "v1", "kind": "Node", "metadata": about, "status": status})
    kube.apply(*made)
    kube.wait_until(lambda: kube._free_nodes() >= len(nodes), "nodes")


def scheduled(kube: KubernetesReferee, pods: pd.DataFrame, place: str) -> dict[str, str | None]:
    """Create pods in their order, and return the node of each; None for those without one."""
    space = kube.namespace()
    path = f"/api/v1/namespaces/{space}/pods"
    address = urlsplit(kube.url)
    trusted = ssl.create_default_context(cafile=str(kube.authority))
    line = http.client.HTTPSConnection(
        address.hostname or "", address.port, context=trusted, timeout=120
    )
    sent = {"Authorization": f"Bearer {kube.token}", "Content-Type": "application/json"}

    def ask(method: str, where: str, body: Mapping[str, Any] | None = None) -> Any:
        for _ in range(5):
            try:
                line.request(method, where, None if body is None else json.dumps(body), sent)
                answer = line.getresponse()
                said = answer.read()
            except (http.client.HTTPException, OSError):
                # a busy server hangs up at times; what it has done already is a conflict (409)
                line.close()
                continue
            assert answer.status < 300 or answer.status == 409, said
            return json.loads(said)
        raise AssertionError(f"{method} {where}: the API server hangs up")

    for pod in pods.itertuples():
        ask("POST", path, _pod(pod, place))

    def decided() -> dict[str, str | None] | None:
        found = {}
        for one in ask("GET", path)["items"]:
            node = one["spec"].get("nodeName")
            states = {
                state["type"]: state["status"] for state in one["status"].get("conditions", ())
            }
            if node is None and states.get("PodScheduled") != "False":
                return None
            found[one["metadata"]["name"]] = node
        return found

    while (found := decided()) is None:
        time.sleep(0.5)
    ask("DELETE", f"{path}?gracePeriodSeconds=0")
    while ask("GET", f"{path}?limit=1")["items"]:
        time.sleep(0.5)
    line.close()
    return found


def _pod(pod: Any, place: str) -> dict[str, Any]:
    asked = {
        "cpu": f"{round(1000 * pod.request_cpu_cores)}m",
        "memory": f"{round(1024 * pod.request_memory_gib)}Mi",
    }
    if pod.request_gpus:
        asked["nvidia.com/gpu"] = str(int(pod.request_gpus))
    resources = {"requests": asked, "limits": asked}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.job_id},
        "spec": {
            "schedulerName": place.replace("_", "-"),
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "i", "resources": resources}],
        },
    }


@dataclass(frozen=True)
class SchedulerComparison:
    """What the real scheduler did, as our rules see it."""

    pods: int
    bound: int
    #: pods that went to a node that we rate highest, and those of them with several such nodes
    agreed: int
    tied: int
    #: pods with a node where we see no room, or without one where we see some
    room_differs: tuple[str, ...]
    #: pods on a node that we do not rate highest
    place_differs: tuple[str, ...]
    #: pods bound by one side alone when our replay breaks ties its own way
    own_ties_differ: int
    own_ties_bound: int


def compared(
    nodes: pd.DataFrame, pods: pd.DataFrame, found: Mapping[str, str | None], place: str
) -> SchedulerComparison:
    """Follow the real decisions, and judge each by our placement."""
    cluster, workload = Cluster.from_nodes(nodes), Workload.from_jobs(pods)
    state = open_state(workload, cluster, place=place, leave_out_unfit=False, seed=0)
    names = state.workload.jobs["job_id"].tolist()
    row_of = {name: row for row, name in enumerate(nodes["node_id"])}
    room, elsewhere, agreed, tied = [], [], 0, 0
    next(instants(state))
    for job, name in enumerate(names):
        scores = {n: state.score(job, n) for n in range(len(cluster)) if state.fits(job, n)}
        node = found[name]
        if node is None or not scores:
            room += [name] if (node is None) == bool(scores) else []
            continue
        best = [n for n, score in scores.items() if score == max(scores.values())]
        if row_of[node] in best:
            agreed, tied = agreed + 1, tied + (len(best) > 1)
        else:
            elsewhere.append(name)
        if not state.start(job, [row_of[node]]):
            room.append(name)
    schedule = simulate(workload, cluster, place=place)
    own = {
        name for name, start in zip(names, schedule.start_s.tolist(), strict=True) if start == 0.0
    }
    real = {name for name, node in found.items() if node is not None}
    return SchedulerComparison(
        len(names),
        len(real),
        agreed,
        tied,
        tuple(room),
        tuple(elsewhere),
        len(own ^ real),
        len(own),
    )
