"""The controller against a real API server and a real Prometheus, with pods that kwok plays."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus
from tools.kubernetes_referee import KubernetesReferee, free_ports

pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')

from prophase import units
from prophase.autoscale.fleet import Fleet
from prophase.autoscale.live_decision import LiveRules, rounded
from prophase.autoscale.phase_labels import labelled
from prophase.autoscale.policy_comparison import compare
from prophase.autoscale.saved_policy import SavedPolicy, saved_policy
from prophase.integrations.kubernetes.autoscaler.controller import PodScaler
from prophase.integrations.kubernetes.autoscaler.leader_lease import LeaderLease
from prophase.integrations.kubernetes.autoscaler.pod_view import STATE, WOULD, quantity
from prophase.integrations.kubernetes.autoscaler.usage_samples import PrometheusSamples
from prophase.integrations.kubernetes.autoscaler.vpa_recommender import VpaRecommender
from prophase.study.phase_scaling import learnt_phases

STEP, EVERY, SAMPLES, PODS = 60.0, 5, 60, 3
BEGINS_GIB = 16.0


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> tuple[SavedPolicy, Path]:
    fit, test = plateaus(series=8, seed=1), plateaus(series=2, seed=2)
    labeller = learnt_phases(fit, "crbm", n_phases=3)
    found = compare(
        fit, test, target=0.95, policies=["phase-ahead"], max_resizes=300, labeller=labeller
    )
    made = saved_policy(found, "phase-ahead")
    path = tmp_path_factory.mktemp("policy") / "memory.policy"
    made.save(path)
    return made, path


@dataclass
class Site:
    """Pods that run, and what they will have used, minute by minute."""

    kube: KubernetesReferee
    namespace: str
    #: pod -> its use
    use: dict[str, np.ndarray[Any, Any]]
    start_s: float
    prometheus: str
    api: Any
    leases: Any

    def scaler(self, policy: SavedPolicy, **more: Any) -> PodScaler:
        samples = PrometheusSamples(self.prometheus, self.namespace, policy)
        return PodScaler(self.api, self.namespace, policy, samples, **more)

    def now(self, samples: int) -> float:
        """Return the time when a pod has so many samples."""
        return self.start_s + (samples - 1) * STEP + 1.0

    def pod(self, name: str) -> dict[str, Any]:
        return self.kube.get("pod", name, namespace=self.namespace)

    def memory(self, name: str) -> float:
        held = self.pod(name)["spec"]["containers"][0]["resources"]["requests"]["memory"]
        return units.parse_quantity(held) / 2**30

    def expected(self, policy: SavedPolicy, name: str, samples: int) -> float:
        return rounded(policy.allocation(self.use[name][:samples]), "memory_gib")


def _pod(name: str, **annotations: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1", "memory": "16Gi"}}
    about = {
        "name": name,
        "labels": {"prophase.dev/autoscale": "enabled"},
        "annotations": annotations,
    }
    spec = {"containers": [{"name": "main", "image": "i", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


@pytest.fixture
def site_of(real_kube: KubernetesReferee, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Make pods in a namespace of their own, and a Prometheus that knows what they will use."""
    from kubernetes import config
    from kubernetes.client import CoordinationV1Api, CoreV1Api

    programs = [shutil.which(name) for name in ("prometheus", "promtool")]
    if not all(programs):
        pytest.skip("Prometheus is not installed; tools/system-packages does it")
    client = config.new_client_from_config(str(real_kube.kubeconfig))
    servers: list[subprocess.Popen[bytes]] = []
    spaces: list[str] = []

    def make(*pods: dict[str, Any]) -> Site:
        space = real_kube.namespace()
        spaces.append(space)
        for pod in pods or [_pod(f"p{number}") for number in range(PODS)]:
            real_kube.create(pod, namespace=space)
        found: list[dict[str, Any]] = []

        def all_run() -> bool:
            found[:] = real_kube.get("pods", namespace=space)["items"]
            return all(one["status"]["phase"] == "Running" for one in found)

        real_kube.wait_until(all_run, "the pods")
        begun = max(datetime.fromisoformat(one["status"]["startTime"]).timestamp() for one in found)
        start_s = math.ceil(begun / STEP) * STEP
        fleet = plateaus(series=len(found), samples=SAMPLES + 3, seed=3)
        names = [one["metadata"]["name"] for one in found]
        use = {
            name: fleet.use[run][:SAMPLES] for name, run in zip(names, fleet.runs(), strict=True)
        }
        url = _prometheus(tmp_path / space, space, use, start_s, programs, servers)
        return Site(
            real_kube, space, use, start_s, url, CoreV1Api(client), CoordinationV1Api(client)
        )

    yield make
    for server in servers:
        server.kill()
        server.wait()
    for space in spaces:
        real_kube.kubectl("delete", "namespace", space, "--wait=false")
    client.close()


def _prometheus(
    folder: Path, space: str, use: dict[str, Any], start_s: float, programs: list[Any],
    servers: list[subprocess.Popen[bytes]],
) -> str:  # fmt: skip
    folder.mkdir()
    lines = ["# TYPE container_memory_working_set_bytes gauge"]
    for name, values in use.items():
        marks = f'namespace="{space}",pod="{name}",container="main"'
        lines += [
            f"container_memory_working_set_bytes{{{marks}}} {value * 2**30!r} "
            f"{start_s + place * STEP}"
            for place, value in enumerate(values.tolist())
        ]
    text = folder / "use.txt"
    text.write_text("\n".join([*lines, "# EOF\n"]))
    data = folder / "data"
    subprocess.run(
        [programs[1], "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    (port,) = free_ports(1)
    with (folder / "log").open("wb") as said:
        servers.append(
            subprocess.Popen(
                [programs[0], f"--config.file={folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}",
                 "--query.lookback-delta=30s"],
                stdout=said, stderr=said,
            )
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):
                return url
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    raise AssertionError((folder / "log").read_text())


def test_pods_are_given_what_the_back_test_gives_them(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    site, (held, _) = site_of(), policy
    told: list[Any] = []
    scaler = site.scaler(held, tell=told.append)
    for samples in (4, 5, 7, 20, 41, SAMPLES):
        scaler.round(site.now(samples))
        for name in site.use:
            assert site.memory(name) == site.expected(held, name, samples)
    assert scaler.counters.resizes == sum(one["outcome"] == "resize" for one in told)
    # no pod was restarted, and each change of its spec is one decision
    for name in site.use:
        pod = site.pod(name)
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
        mine = [one for one in told if one["pod"] == name and one["outcome"] == "resize"]
        assert pod["metadata"]["generation"] == 1 + len(mine)
        assert len({one["decision"] for one in mine}) == len(mine)
    assert "prophase_autoscale_resizes_total" in scaler.counters.exposition(leads=True)
    events = site.kube.get("events", namespace=site.namespace)["items"]
    assert any(one["reason"] == "ProphaseResized" for one in events)


def test_a_dry_run_annotates_and_changes_nothing(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    site, (held, _) = site_of(), policy
    scaler = site.scaler(held, dry_run=True)
    scaler.round(site.now(20))
    for name in site.use:
        pod = site.pod(name)
        assert site.memory(name) == BEGINS_GIB
        assert pod["metadata"]["generation"] == 1
        notes = pod["metadata"]["annotations"]
        assert STATE not in notes
        would = json.loads(notes[WOULD])["to"]
        assert units.parse_quantity(would) / 2**30 == site.expected(held, name, 20)


def test_bounds_budget_and_other_pods_are_respected(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    other = _pod("other")
    del other["metadata"]["labels"]
    site, (held, _) = site_of(_pod("p0"), _pod("p1"), other), policy
    site.scaler(held, rules=LiveRules(least=12.0, changes_per_hour=1)).round(site.now(20))
    sizes = sorted(site.memory(name) for name in ("p0", "p1"))
    assert sizes == [12.0, BEGINS_GIB]
    assert site.memory("other") == BEGINS_GIB


def test_an_infeasible_resize_is_taken_back_and_a_deferred_one_waits(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    # no kubelet grants what these pods are resized to
    site, (held, _) = site_of(_pod("p0", **{"referee/resize": "never"})), policy
    scaler = site.scaler(held, rules=LiveRules(least=100.0, most=100.0))
    scaler.round(site.now(20))
    assert site.memory("p0") == 100.0

    def pending(reason: str) -> None:
        at = datetime.fromtimestamp(site.now(20)).astimezone().isoformat(timespec="seconds")
        state = {"type": "PodResizePending", "status": "True", "reason": reason,
                 "lastTransitionTime": at}  # fmt: skip
        site.kube.kubectl(
            "patch", "-n", site.namespace, "pod", "p0", "--subresource", "status", "--type",
            "strategic", "-p", json.dumps({"status": {"conditions": [state]}}),
        )  # fmt: skip

    pending("Deferred")
    (waits,) = scaler.round(site.now(21))
    assert (waits.outcome, site.memory("p0")) == ("wait", 100.0)
    pending("Infeasible")
    (back,) = scaler.round(site.now(22))
    assert "Infeasible" in back.reason
    assert site.memory("p0") == BEGINS_GIB


def test_a_kill_is_answered_with_more_memory_once(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    site, (held, _) = site_of(_pod("p0", **{"referee/resize": "never"})), policy
    scaler = site.scaler(held)
    scaler.round(site.now(20))
    before = site.memory("p0")
    ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": None, "finishedAt": None}
    state = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 1,
             "lastState": {"terminated": ended}}  # fmt: skip
    site.kube.kubectl(
        "patch", "-n", site.namespace, "pod", "p0", "--subresource", "status", "--type",
        "strategic", "-p", json.dumps({"status": {"containerStatuses": [state]}}),
    )  # fmt: skip
    (answer,) = scaler.round(site.now(20))
    assert answer.name == "kill-1"
    assert site.memory("p0") == rounded(held.kills.least_after(before, "memory_gib"), "memory_gib")
    again = site.scaler(held).round(site.now(21))
    assert [one.outcome for one in again] == ["keep"]


@pytest.mark.parametrize("spoil", ["restarts", "several", "no request"])
def test_a_pod_that_cannot_be_resized_is_said_to_be_and_left_alone(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path], spoil: str
) -> None:
    pod = _pod("p0")
    (container,) = pod["spec"]["containers"]
    if spoil == "restarts":
        container["resizePolicy"] = [
            {"resourceName": "memory", "restartPolicy": "RestartContainer"},
        ]  # fmt: skip
    elif spoil == "several":
        pod["spec"]["containers"].append({**container, "name": "beside"})
    else:
        del container["resources"]
    site, (held, _) = site_of(pod), policy
    (found,) = site.scaler(held).round(site.now(20))
    assert found.outcome == "refused"
    assert site.pod("p0")["metadata"]["generation"] == 1
    events = site.kube.get("events", namespace=site.namespace)["items"]
    assert any(one["reason"] == "ProphaseNotResized" for one in events)


def test_without_rights_prometheus_or_api_server_nothing_is_touched_and_it_is_said(
    site_of: Callable[..., Site],
    policy: tuple[SavedPolicy, Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    from kubernetes import client, config

    site, (held, _) = site_of(_pod("p0")), policy
    over = threading.Event()
    scaler = site.scaler(held)
    scaler._samples = PrometheusSamples("http://127.0.0.1:1", site.namespace, held)
    scaler.run(over, every_s=0.0, clock=lambda: site.now(20), rounds=1)
    assert "Nothing was changed" in caplog.text
    poor = config.new_client_from_config(str(site.kube.kubeconfig_of("bob")))
    scaler = site.scaler(held)
    scaler._api = client.CoreV1Api(poor)
    scaler.run(over, every_s=0.0, clock=lambda: site.now(20), rounds=1)
    assert 'User "bob" cannot list resource "pods"' in caplog.text
    # may look and annotate, but not resize
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "looks", "namespace": site.namespace},
            "rules": [{"apiGroups": [""], "resources": ["pods", "events"],
                       "verbs": ["get", "list", "patch", "create"]}]}  # fmt: skip
    site.kube.apply(role)
    site.kube.kubectl(
        "create", "-n", site.namespace, "rolebinding", "bob", "--role=looks", "--user=bob"
    )
    scaler.round(site.now(20))
    assert "needs the verbs get, list and patch on pods and patch on pods/resize" in caplog.text
    gone = client.Configuration()
    gone.host, gone.retries = "http://127.0.0.1:1", False
    scaler._api = client.CoreV1Api(client.ApiClient(gone))
    scaler.run(over, every_s=0.0, clock=lambda: site.now(20), rounds=1)
    assert scaler.counters.failures >= 3
    assert site.memory("p0") == BEGINS_GIB
    poor.close()


def test_one_of_several_controllers_acts(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    site, (held, _) = site_of(_pod("p0")), policy
    clock = [0.0]
    first, second = (
        LeaderLease(site.leases, site.namespace, "one", name, duration_s=10,
                    clock=lambda: clock[0])
        for name in "ab"
    )  # fmt: skip
    assert first.renew()
    assert not second.renew()
    clock[0] = 9.0
    assert not second.renew()
    # not renewed for its duration: the other takes over, and the first notices
    clock[0] = 20.5
    assert second.renew()
    assert not first.is_ours
    assert not first.renew()
    assert site.scaler(held, lease=first).round(site.now(20)) == []
    second.release()
    assert first.renew()


def test_ten_kills_of_the_controller_lose_and_double_nothing(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path], tmp_path: Path
) -> None:
    site, (held, path) = site_of(), policy
    clock, log = tmp_path / "clock", tmp_path / "log"
    asked = {
        "policy": str(path), "kubeconfig": str(site.kube.kubeconfig), "namespace": site.namespace,
        "prometheus": site.prometheus, "clock": str(clock), "log": str(log),
        "least": 3.0, "most": 9.0,
    }  # fmt: skip
    begun = 0

    def start() -> subprocess.Popen[bytes]:
        nonlocal begun
        begun += 1
        arguments = json.dumps({**asked, "holder": f"controller-{begun}"})
        script = Path(__file__).with_name("controller_process.py")
        return subprocess.Popen([sys.executable, str(script), arguments], stderr=subprocess.DEVNULL)

    def set_clock(now_s: float) -> None:
        (tmp_path / "new").write_text(repr(now_s))
        (tmp_path / "new").replace(clock)

    def bounded(name: str, samples: int) -> float:
        return min(max(site.expected(held, name, samples), 3.0), 9.0)

    chance = random.Random(0)
    given: dict[str, list[float]] = {name: [] for name in site.use}
    set_clock(site.now(1))
    process = start()
    kills = 0
    try:
        for samples in range(EVERY, SAMPLES, EVERY):
            set_clock(site.now(samples))
            if kills < 10:
                # somewhere between reading, noting and resizing
                time.sleep(chance.uniform(0.0, 0.6))
                process.kill()
                process.wait()
                kills += 1
                process = start()
            site.kube.wait_until(
                lambda samples=samples: all(  # type: ignore[misc]
                    site.memory(name) == bounded(name, samples) for name in site.use
                ),
                f"decision {samples // EVERY}",
            )
            for name in site.use:
                given[name] += [site.memory(name)] * EVERY
    finally:
        process.kill()
        process.wait()
    assert kills == 10
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for name, use in site.use.items():
        sizes = [BEGINS_GIB, *given[name]]
        changes = sum(one != other for one, other in pairwise(sizes))
        # the API server counts every change of a spec: none was made twice
        assert site.pod(name)["metadata"]["generation"] == 1 + changes
        told = [one["decision"] for one in lines
                if one["pod"] == name and one["outcome"] == "resize"]  # fmt: skip
        assert len(set(told)) == len(told)
        assert all(3.0 <= one <= 9.0 for one in given[name])
        # what was given is what the back-test gives, within a point
        fleet = Fleet.of_runs([use[:SAMPLES].tolist()], every=EVERY, metric="memory_gib")
        tested = held.policy.plan(labelled(fleet, held.labeller)).allocate(held.dial, held.rule)[1:]
        expected = np.clip(fleet.per_sample(np.append(0.0, tested))[EVERY:], 3.0, 9.0)
        saved = 1 - np.mean(given[name]) / BEGINS_GIB
        assert saved == pytest.approx(1 - np.mean(expected) / BEGINS_GIB, abs=0.01)


VPA_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "verticalpodautoscalers.autoscaling.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler"},
    },
    "spec": {
        "group": "autoscaling.k8s.io", "scope": "Namespaced",
        "names": {
            "plural": "verticalpodautoscalers", "singular": "verticalpodautoscaler",
            "kind": "VerticalPodAutoscaler", "shortNames": ["vpa"],
        },
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True,
            }},
        }],
    },
}  # fmt: skip


def _vpa(name: str, target: str, **spec: Any) -> dict[str, Any]:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    asked = {"targetRef": ref, "recommenders": [{"name": "prophase"}], **spec}
    about = {"name": name}
    kind = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"}
    return {**kind, "metadata": about, "spec": asked}


def test_a_vpa_is_told_what_its_neediest_pod_is_given(
    site_of: Callable[..., Site], policy: tuple[SavedPolicy, Path]
) -> None:
    from kubernetes.client import CustomObjectsApi

    site, (held, _) = site_of(_pod("p0"), _pod("p1")), policy
    site.kube.apply(VPA_KIND)
    site.kube.wait_until(
        lambda: site.kube.kubectl("get", "vpa", "-n", site.namespace, check=False).returncode == 0,
        "the kind",
    )
    labels = {"prophase.dev/autoscale": "enabled"}
    template = {"metadata": {"labels": labels}, "spec": _pod("x")["spec"]}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "train"},
             "spec": {"replicas": 0, "selector": {"matchLabels": labels},
                      "template": template}}  # fmt: skip
    site.kube.create(owner, namespace=site.namespace)
    least = {"containerPolicies": [{"containerName": "*", "minAllowed": {"memory": "60Gi"}}]}
    off = {"containerPolicies": [{"containerName": "main", "mode": "Off"}]}
    for document in (
        _vpa("plain", "train"),
        _vpa("bounded", "train", resourcePolicy=least),
        _vpa("off", "train", resourcePolicy=off),
        _vpa("lost", "elsewhere"),
        _vpa("foreign", "train", recommenders=[{"name": "other"}]),
    ):
        site.kube.create(document, namespace=site.namespace)
    samples = PrometheusSamples(site.prometheus, site.namespace, held)
    objects = CustomObjectsApi(site.api.api_client)
    told: list[Any] = []
    writer = VpaRecommender(site.api, objects, site.namespace, held, samples, tell=told.append)

    def status(name: str) -> dict[str, Any]:
        return dict(site.kube.get("vpa", name, namespace=site.namespace).get("status") or {})

    VpaRecommender(site.api, objects, site.namespace, held, samples, dry_run=True).round(
        site.now(20)
    )
    assert status("plain") == {}
    writer.round(site.now(20))
    expected = max(site.expected(held, name, 20) for name in site.use)
    (one,) = status("plain")["recommendation"]["containerRecommendations"]
    assert one["containerName"] == "main"
    assert one["target"] == one["lowerBound"] == {"memory": quantity(expected, "memory_gib")}
    assert units.parse_quantity(one["upperBound"]["memory"]) > expected * 2**30
    (bounded,) = status("bounded")["recommendation"]["containerRecommendations"]
    assert bounded["target"] == {"memory": "61440Mi"}
    assert bounded["uncappedTarget"] == one["target"]
    for name, why in (("off", "mode Off"), ("lost", "no Deployment elsewhere")):
        (condition,) = status(name)["conditions"]
        assert condition["status"] == "False"
        assert why in condition["message"]
    assert status("foreign") == {}
    # nothing new is not written again, and pods are left alone
    before, count = status("plain"), len(told)
    writer.round(site.now(20))
    assert status("plain") == before
    assert len(told) == count
    assert [site.memory(name) for name in site.use] == [BEGINS_GIB] * 2
    # what another recommender wrote stays
    extra = {"containerName": "main", "target": {**one["target"], "cpu": "2"}}
    patch = {"status": {"recommendation": {"containerRecommendations": [extra]}}}
    site.kube.kubectl(
        "patch", "vpa", "plain", "-n", site.namespace, "--subresource=status", "--type=merge",
        "-p", json.dumps(patch),
    )  # fmt: skip
    writer.round(site.now(41))
    (one,) = status("plain")["recommendation"]["containerRecommendations"]
    later = max(site.expected(held, name, 41) for name in site.use)
    assert one["target"] == {"cpu": "2", "memory": quantity(later, "memory_gib")}
