"""The real control plane that other tests are judged by does what a cluster's does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.kubernetes_referee import KubernetesReferee, RefereeError

from tools import kubernetes_referee

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "i",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "8"},
                              "limits": {"memory": "2Gi", "nvidia.com/gpu": "8"}},
            }
        ],
    },
}  # fmt: skip


def _pod(name: str, **annotations: str) -> dict[str, object]:
    made = json.loads(json.dumps(POD))
    made["metadata"] = {"name": name, "annotations": annotations}
    return dict(made)


def test_pods_are_bound_by_the_real_scheduler_and_run(real_kube: KubernetesReferee) -> None:
    space = real_kube.namespace()
    for number in range(5):
        real_kube.create(_pod(f"p{number}"), namespace=space)

    def phases() -> list[str]:
        pods = real_kube.get("pods", namespace=space)["items"]
        return sorted(one["status"]["phase"] for one in pods)

    # four nodes have eight GPUs each
    real_kube.wait_until(lambda: phases() == ["Pending"] + 4 * ["Running"], "four pods of five")
    waiting = next(
        one
        for one in real_kube.get("pods", namespace=space)["items"]
        if one["status"]["phase"] == "Pending"
    )
    assert "Insufficient nvidia.com/gpu" in waiting["status"]["conditions"][0]["message"]


def test_a_running_pod_is_resized_in_place(real_kube: KubernetesReferee) -> None:
    space = real_kube.namespace()
    pod = _pod("one")
    del pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]  # type: ignore[index]
    del pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]  # type: ignore[index]
    real_kube.create(pod, namespace=space)

    def status() -> dict[str, object]:
        found = real_kube.get("pod", "one", namespace=space)["status"]
        return dict(found["containerStatuses"][0] if "containerStatuses" in found else {})

    real_kube.wait_until(lambda: "running" in dict(status().get("state", {})), "the pod")  # type: ignore[call-overload]
    wanted = {"name": "main", "resources": {"requests": {"memory": "1500Mi"}}}
    patch = json.dumps({"spec": {"containers": [wanted]}})
    real_kube.kubectl("patch", "-n", space, "pod", "one", "--subresource", "resize", "-p", patch)
    real_kube.wait_until(
        lambda: status()["resources"]["requests"]["memory"] == "1500Mi",  # type: ignore[index]
        "the resize",
    )
    assert status()["restartCount"] == 0


def test_users_may_do_what_rbac_allows_and_no_more(real_kube: KubernetesReferee) -> None:
    space = real_kube.namespace()
    with pytest.raises(RefereeError, match="Forbidden"):
        real_kube.create(_pod("one"), namespace=space, user="ann")
    real_kube.kubectl(
        "create", "-n", space, "rolebinding", "ann", "--clusterrole=edit", "--user=ann"
    )
    real_kube.create(_pod("one"), namespace=space, user="ann")


def test_nothing_is_left_behind_when_the_process_is_killed(tmp_path: Path) -> None:
    if kubernetes_referee.why_not():
        pytest.skip(str(kubernetes_referee.why_not()))
    script = (
        "import os, signal\n"
        "from tools.kubernetes_referee import *\n"
        "kube = KubernetesReferee(KubernetesSite(nodes=1)).__enter__()\n"
        "print(*[one.pid for one in kube._daemons.values()], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=False
    )
    pids = done.stdout.split()
    assert len(pids) == 5, done.stderr
    for pid in pids:
        for _ in range(100):
            state = Path(f"/proc/{pid}/stat")
            if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
                break
            os.sched_yield()
            subprocess.run(["sleep", "0.1"], check=True)
        else:
            raise AssertionError(f"{pid} is still there")


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROPHASE_KUBERNETES", str(tmp_path))
    assert "tools/kubernetes-env builds it" in str(kubernetes_referee.why_not())
    monkeypatch.setattr("tools.kubernetes_referee._PROGRAMS", ("no-such-program",))
    assert kubernetes_referee.why_not() == "not installed: no-such-program"
