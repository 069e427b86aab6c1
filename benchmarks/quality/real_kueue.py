"""Does the twin of Kueue admit what the real Kueue admits? Workloads that end one after the other.

Random ClusterQueues with cohorts, limits of borrowing and lending, strict and passing queues and
two flavors; Workloads of random size and priority. In every step one Workload that holds quota
ends: the twin says beforehand who is admitted next, and the real controller decides. Nothing is
stopped for others here: that needs Jobs that give way.

    go get -tool sigs.k8s.io/kueue/cmd/kueue@v0.16.1 && go build sigs.k8s.io/kueue/cmd/kueue
    python benchmarks/quality/real_kueue.py kueue ~/go/pkg/mod/sigs.k8s.io/kueue@v0.16.1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.kubernetes_referee import (
    KubernetesReferee,
    KubernetesSite,
    free_ports,
    make_certificate,
)

from prophase.integrations.kubernetes.kueue_queue import look
from prophase.sim.kueue.admission import AdmissionRun
from prophase.sim.kueue.kueue_twin import KueueTwin
from prophase.sim.kueue.snapshot import KueueSnapshot
from record import Measurement, record

API = "kueue.x-k8s.io/v1beta2"
NEVER_S = 1e9
#: a decision that has not come after this time is none
SETTLED_S = 8.0


def document(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    about = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API, "kind": kind, "metadata": about, "spec": spec}


def queues(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return three queues of a cohort and one alone."""
    found = [document("ResourceFlavor", name, {}) for name in ("first", "second")]
    for number in range(4):
        flavors = []
        for flavor in ("first", "second")[: int(rng.integers(1, 3))]:
            resources = []
            for name, most in (("cpu", 40), ("nvidia.com/gpu", 8)):
                quota: dict[str, Any] = {"name": name, "nominalQuota": int(rng.integers(2, most))}
                if number < 3 and rng.random() < 0.4:
                    quota["borrowingLimit"] = int(rng.integers(0, most // 2))
                if number < 3 and rng.random() < 0.3:
                    quota["lendingLimit"] = int(rng.integers(0, quota["nominalQuota"] + 1))
                resources.append(quota)
            flavors.append({"name": flavor, "resources": resources})
        spec: dict[str, Any] = {
            "namespaceSelector": {},
            "queueingStrategy": str(rng.choice(["StrictFIFO", "BestEffortFIFO"])),
            "resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": flavors}],
        }
        if number < 3:
            spec["cohortName"] = "shared"
        found.append(document("ClusterQueue", f"q{number}", spec))
        found.append(
            document("LocalQueue", f"q{number}", {"clusterQueue": f"q{number}"}, "default")
        )
    return found


def workloads(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    found = []
    for number, priority in enumerate(rng.permutation(count)):
        asked = {"cpu": str(rng.integers(1, 12)), "nvidia.com/gpu": str(rng.integers(0, 4))}
        container = {"name": "main", "image": "none", "resources": {"requests": asked}}
        pods = {"restartPolicy": "Never", "containers": [container]}
        spec = {
            "queueName": f"q{rng.integers(4)}",
            "priority": int(priority),
            "podSets": [{"name": "main", "count": 1, "template": {"spec": pods}}],
        }
        found.append(document("Workload", f"w{number}", spec, "default"))
    return found


def admitted(shot: KueueSnapshot) -> set[str]:
    return set(shot.running["job_id"])


def settled(folder: Path, client: Any) -> KueueSnapshot:
    """Return the queue once nothing has changed for a while."""
    before, since = None, time.monotonic()
    while True:
        shot = look(folder, client)
        now = admitted(shot)
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > SETTLED_S:
            return shot
        time.sleep(0.5)


def foretold(shot: KueueSnapshot, ends: str) -> set[str]:
    """Return who is admitted when one Workload ends, and nobody else ever does."""
    twin = KueueTwin(shot)
    left = np.where(twin.jobs["job_id"] == ends, 1.0, NEVER_S)
    works = twin.works()
    order = np.lexsort(([one.created_s for one in works], [-one.priority for one in works]))
    rank = np.empty(len(works))
    rank[order] = np.arange(len(works))
    start = AdmissionRun(shot.queues, shot.tree(), works, left, rank).run()
    return set(twin.jobs["job_id"][start < NEVER_S / 2])


def campaign(program: Path, module: Path, seed: int, steps: int) -> tuple[int, int, int]:
    """Return steps, those that were foretold exactly, and admissions of the real one."""
    from kubernetes import config

    rng = np.random.default_rng(seed)
    with (
        KubernetesReferee(KubernetesSite(nodes=1)) as kube,
        tempfile.TemporaryDirectory() as place,
    ):
        folder = Path(place)
        for one in sorted((module / "config/components/crd/bases").glob("*.yaml")):
            kube.kubectl("create", "-f", str(one))
        kube.kubectl("wait", "--for=condition=Established", "crd", "--all")
        kube.apply(*queues(rng))
        kube.apply(*workloads(rng, 60))
        controller = started(program, kube, folder)
        client = config.new_client_from_config(str(kube.kubeconfig))
        right = made = done = 0
        try:
            shot = settled(folder / "now", client)
            while done < steps and admitted(shot) and len(shot.waiting):
                ends = str(rng.choice(sorted(admitted(shot))))
                told = foretold(shot, ends)
                finish(kube, ends.partition("/")[2])
                later = settled(folder / "now", client)
                new = admitted(later) - admitted(shot)
                right, made, done = right + (new == told), made + len(new), done + 1
                if new != told:
                    print(f"seed {seed}, {ends} ends: real {sorted(new)}, twin {sorted(told)}")
                shot = later
            if not done:
                print((folder / "kueue.log").read_text()[-3000:])
        finally:
            client.close()
            controller.kill()
            controller.wait()
    return done, right, made


def started(program: Path, kube: KubernetesReferee, folder: Path) -> subprocess.Popen[bytes]:
    """Start Kueue's controller, without its webhooks."""
    make_certificate(folder, "tls", authority="ca", names=("localhost",))
    health, webhook = free_ports(2)
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": webhook, "host": "127.0.0.1", "certDir": str(folder)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["batch/job"]},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    with (folder / "kueue.log").open("wb") as log:
        return subprocess.Popen(
            [program, f"--config={folder}/config.json", "--feature-gates=VisibilityOnDemand=false"],
            env={"KUBECONFIG": str(kube.kubeconfig), "HOME": str(folder), "PATH": "/usr/bin"},
            stdout=log,
            stderr=log,
        )


def finish(kube: KubernetesReferee, name: str) -> None:
    """Say of a Workload that it has ended."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ended = {"type": "Finished", "status": "True", "reason": "JobFinished", "message": "ended",
             "lastTransitionTime": now}  # fmt: skip
    patch = [{"op": "add", "path": "/status/conditions/-", "value": ended}]
    kube.kubectl("patch", "workloads.kueue.x-k8s.io", name, "-n", "default", "--type=json",
                 "--subresource=status", "-p", json.dumps(patch))  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("program", type=Path)
    options.add_argument("module", type=Path)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=15)
    given = options.parse_args()
    found = [
        campaign(given.program.resolve(), given.module, seed, given.steps)
        for seed in range(given.seeds)
    ]
    steps, right, made = (sum(column) for column in zip(*found, strict=True))
    record(
        Measurement(
            "steps in which the twin names whom the real Kueue admits next",
            "share of steps",
            [right / max(steps, 1)],
            data=f"{given.seeds} random sets of 4 ClusterQueues, 60 Workloads each",
            remark=f"{right} of {steps} steps, {made} admissions; {given.module.name}",
        )
    )


if __name__ == "__main__":
    main()
