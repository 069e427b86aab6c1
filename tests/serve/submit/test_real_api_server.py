"""The webhook, registered in a real API server: what kubectl creates comes back patched."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.serve.submit import objects
from tests.serve.submit.conftest import set_policy
from tools.kubernetes_referee import KubernetesReferee, RefereeError, make_certificate

from prophase import units
from prophase.serve.submit.pods import pod_places

ROOT = Path(__file__).parents[3]
POLICY = """
[submit]
mode = "set"
token = false
budget_ms = 10000
[submit.namespaces.careful]
mode = "dry-run"
[submit.namespaces.tied]
mode = "set"
limits = "set"
"""
#: kinds of operators: their definitions, without what their operators check
CUSTOM = (
    ("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"),
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    ("ray.io", "v1", "RayJob", "rayjobs"),
    ("batch.volcano.sh", "v1alpha1", "Job", "jobs"),
)


@dataclass
class Webhook:
    """The service, as the API server knows it."""

    kube: KubernetesReferee
    workspace: Path
    tls: Path
    start: Callable[[], tuple[subprocess.Popen[str], str]]
    process: subprocess.Popen[str]
    address: str

    def register(self) -> None:
        """Tell the API server where the service is, as the chart does."""
        helm = Path(sys.executable).parent / "helm"
        more = [
            {"apiGroups": [group], "apiVersions": ["*"], "resources": [plural]}
            for group, _, _, plural in CUSTOM
        ]
        said = subprocess.run(
            [str(helm), "template", "prophase", str(ROOT / "deploy" / "helm" / "prophase"),
             "--namespace", "prophase", "--show-only", "templates/webhook.yaml",
             "--set-json", "webhook.timeoutSeconds=10"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        (config,) = (
            one for one in yaml.safe_load_all(said.stdout)
            if one["kind"] == "MutatingWebhookConfiguration"
        )  # fmt: skip
        (hook,) = config["webhooks"]
        hook["rules"] += [{"operations": ["CREATE"], "scope": "Namespaced", **one} for one in more]
        authority = base64.b64encode((self.tls / "hook-ca.crt").read_bytes()).decode()
        hook["clientConfig"] = {
            "url": f"{self.address}v1/submit/kubernetes", "caBundle": authority,
        }  # fmt: skip
        self.kube.apply(config)
        self._wait_until_used()

    def _wait_until_used(self) -> None:
        """Wait: registrations reach admission a moment later, and a service loads its models."""
        for _ in range(100):
            seen = self.kube.create(objects.pod(), "--dry-run=server", namespace="ml")
            if _memory(seen) < 16:
                return
            time.sleep(0.2)
        raise AssertionError("the webhook is not called")

    def decisions(self) -> list[dict[str, Any]]:
        found = httpx.get(f"{self.address}v1/submit/decisions", verify=False).json()["decisions"]
        return list(found)


@pytest.fixture(scope="module")
def webhook(
    real_kube: KubernetesReferee, made_workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    folder = tmp_path_factory.mktemp("webhook")
    workspace = Path(shutil.copytree(made_workspace, folder / "ws"))
    set_policy(workspace, POLICY)
    pair = make_certificate(folder, "hook", authority="hook-ca", names=("127.0.0.1", "localhost"))
    enabled = {"prophase.dev/webhook": "enabled"}
    spaces = {"ml": enabled, "careful": enabled, "tied": enabled, "narrow": enabled, "others": {}}
    real_kube.apply(
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            for name, labels in spaces.items()
        ),
        *(_definition(*one) for one in CUSTOM),
    )
    for name in spaces:
        real_kube.wait_until(lambda name=name: real_kube._has_account(name), "accounts")  # type: ignore[misc]
    account = _service_account(real_kube, folder)
    running: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], str]:
        program = str(Path(sys.executable).parent / "prophase")
        process = subprocess.Popen(
            [program, "serve", str(workspace), "--port", "0", "--rate", "0", "--open",
             "--tls-cert", str(pair[0]), "--tls-key", str(pair[1])],
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                 "KUBERNETES_SERVICE_PORT": real_kube.url.rsplit(":", 1)[1],
                 "PROPHASE_KUBE_ACCOUNT": str(account)},
        )  # fmt: skip
        running.append(process)
        assert process.stderr is not None
        address = process.stderr.readline().split(" at ")[1].split()[0]
        for _ in range(600):
            try:
                httpx.get(f"{address}healthz", verify=False)
                return process, address
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the service does not answer")

    made = Webhook(real_kube, workspace, folder, start, *start())
    made.register()
    yield made
    real_kube.kubectl("delete", "mutatingwebhookconfiguration", "--all")
    for process in running:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _service_account(kube: KubernetesReferee, folder: Path) -> Path:
    """Return the folder that a pod of the chart would have: what the chart's account may do."""
    helm = Path(sys.executable).parent / "helm"
    said = subprocess.run(
        [str(helm), "template", "prophase", str(ROOT / "deploy" / "helm" / "prophase"),
         "--namespace", "prophase", "--show-only", "templates/account.yaml"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    kube.kubectl("create", "namespace", "prophase", check=False)
    kube.apply(*yaml.safe_load_all(said.stdout))
    account = folder / "account"
    account.mkdir()
    token = kube.kubectl("create", "token", "-n", "prophase", "prophase").stdout
    (account / "token").write_text(token)
    shutil.copy(kube.authority, account / "ca.crt")
    return account


def _definition(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _memory(template: Any, part: str = "requests") -> float:
    held = template["spec"]["containers"][0]["resources"]
    return units.parse_quantity(held[part]["memory"]) / 2**30


def _named(document: dict[str, Any]) -> dict[str, Any]:
    """Return the object under a name of its own, so that tests do not meet."""
    about = document["metadata"]
    about.pop("name", None)
    about["generateName"] = "bert-"
    return document


@pytest.mark.parametrize(
    "make",
    [objects.pod, objects.job, objects.cron_job, objects.py_torch_job, objects.job_set,
     objects.ray_job, objects.volcano_job],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_what_kubectl_creates_comes_back_patched(webhook: Webhook, make: Any) -> None:
    before = _named(make())
    after = webhook.kube.create(before, namespace="ml")
    assert after["metadata"]["annotations"]["prophase.dev/decided"] == "set"
    assert after["metadata"]["labels"]["prophase.dev/duration-class"].startswith("under-1")
    places = pod_places(after)
    assert len(places) == len(pod_places(before))
    sizes = [_memory(one.template) for one in places]
    assert min(sizes) < 16
    # a head or master beside workers may be of another kind, of which nothing is known
    assert all(2.4 <= one < 4 or one == 16 for one in sizes)
    # limits stay at what the user set, which is never below the request
    assert all(_memory(one.template, "limits") == 16 for one in places)


def test_the_limit_follows_where_the_policy_says_so(webhook: Webhook) -> None:
    after = webhook.kube.create(_named(objects.pod()), namespace="tied")
    assert _memory(after, "limits") == _memory(after) <= 16


def test_a_pod_of_a_patched_job_is_created_and_runs(webhook: Webhook) -> None:
    job = webhook.kube.create(_named(objects.job()), namespace="ml")
    name = job["metadata"]["name"]

    def done() -> bool:
        return bool(webhook.kube.get("job", name, namespace="ml")["status"].get("succeeded"))

    webhook.kube.wait_until(done, "the job's end")
    (pod,) = webhook.kube.get("pods", "-l", f"job-name={name}", namespace="ml")["items"]
    assert _memory(pod) == _memory(job["spec"]["template"])


def test_a_pod_that_replaces_one_asks_for_the_next_rung(webhook: Webhook) -> None:
    made = _named(objects.job(backoffLimit=3))
    notes = {"referee/exit-code": "137", "referee/reason": "OOMKilled"}
    made["spec"]["template"]["metadata"]["annotations"] = notes
    name = webhook.kube.create(made, namespace="ml")["metadata"]["name"]
    pods: list[dict[str, Any]] = []

    def two() -> bool:
        found = webhook.kube.get("pods", "-l", f"job-name={name}", namespace="ml")["items"]
        pods[:] = sorted(found, key=lambda one: one["metadata"]["creationTimestamp"])
        return len(pods) >= 2

    # the Job controller waits ten seconds before it tries again
    webhook.kube.wait_until(two, "the second attempt")
    rungs = pods[0]["metadata"]["annotations"]["prophase.dev/memory-ladder"].split(",")
    ladder = [units.parse_quantity(one) / 2**30 for one in rungs]
    assert [_memory(one) for one in pods[:2]] == ladder[:2]
    webhook.kube.kubectl("delete", "job", "-n", "ml", name)


def test_a_dry_run_is_answered_and_counts_for_nothing(webhook: Webhook) -> None:
    seen = webhook.kube.create(objects.job(), "--dry-run=server", namespace="ml")
    assert seen["metadata"]["annotations"]["prophase.dev/decided"] == "set"
    listed = webhook.kube.get("jobs", namespace="ml")["items"]
    assert "bert" not in [one["metadata"]["name"] for one in listed]


def test_a_namespace_in_dry_run_an_opted_out_object_and_other_tenants_stay_untouched(
    webhook: Webhook,
) -> None:
    asked = _named(objects.pod())
    out = _named(objects.pod(labels={**objects.LABELS, "prophase.dev/mode": "off"}))
    for document, space in ((asked, "careful"), (out, "ml"), (asked, "others")):
        after = webhook.kube.create(document, namespace=space)
        assert _memory(after) == 16
        notes = after["metadata"].get("annotations", {})
        assert not [name for name in notes if name.startswith("prophase.dev/")]
    told = webhook.decisions()
    assert any(one["namespace"] == "careful" and one["outcome"] == "dry-run" for one in told)
    assert not any(one["namespace"] == "others" for one in told)


def test_a_quota_is_charged_for_the_smaller_request(webhook: Webhook) -> None:
    quota = {"hard": {"requests.memory": "20Gi"}}
    about = {"name": "memory", "namespace": "tied"}
    webhook.kube.apply(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": quota}
    )
    webhook.kube.wait_until(
        lambda: "hard" in webhook.kube.get("quota", "memory", namespace="tied").get("status", {}),
        "the quota",
    )
    # two pods of 16 GiB would not fit
    for _ in range(2):
        webhook.kube.create(_named(objects.pod()), namespace="tied")


def test_a_limit_range_refuses_no_pod_because_of_us(webhook: Webhook) -> None:
    least = {"limits": [{"type": "Container", "min": {"memory": "8Gi"}}]}
    about = {"name": "least", "namespace": "narrow"}
    webhook.kube.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": about, "spec": least})
    after = _patient_create(webhook, "narrow", "minimum memory usage per Container is 8Gi")
    assert _memory(after) == 8


def _patient_create(webhook: Webhook, space: str, refused: str) -> dict[str, Any]:
    """Create a pod as soon as the service has seen the LimitRanges, which it lists now and then."""
    for _ in range(60):
        try:
            return webhook.kube.create(_named(objects.pod()), namespace=space)
        except RefereeError as error:
            if refused not in str(error):
                raise
            time.sleep(0.5)
    raise AssertionError("pods are still refused")


def test_decisions_are_events_that_kubectl_shows(webhook: Webhook) -> None:
    job = _named(objects.job())
    job["metadata"]["name"] = "told"
    webhook.kube.create(job, namespace="ml")

    def told() -> bool:
        found = webhook.kube.get("events", namespace="ml")["items"]
        return any(
            one["reason"] == "ProphaseSet" and one["involvedObject"].get("name") == "told"
            for one in found
        )

    webhook.kube.wait_until(told, "the event")


def test_a_certificate_is_replaced_while_the_service_runs(webhook: Webhook) -> None:
    make_certificate(webhook.tls, "hook", authority="hook-ca", names=("127.0.0.1",))
    made = (webhook.tls / "hook.crt").read_text()

    def served() -> str:
        import ssl

        port = int(webhook.address.rsplit(":", 1)[1].strip("/"))
        return ssl.get_server_certificate(("127.0.0.1", port))

    until = time.monotonic() + 30
    while served().strip() != made.strip():
        assert time.monotonic() < until, "the old certificate is still served"
        time.sleep(0.2)
    after = webhook.kube.create(_named(objects.pod()), namespace="ml")
    assert _memory(after) < 16


def test_pods_pass_while_the_service_is_dead_and_the_api_server_counts_it(
    webhook: Webhook,
) -> None:
    webhook.process.kill()
    webhook.process.wait()
    after = webhook.kube.create(_named(objects.pod()), namespace="ml")
    assert _memory(after) == 16
    counted = webhook.kube.kubectl("get", "--raw", "/metrics").stdout
    opened = [
        line for line in counted.splitlines()
        if line.startswith("apiserver_admission_webhook_fail_open_count")
        and 'name="submit.prophase.dev"' in line
    ]  # fmt: skip
    assert opened
    assert float(opened[0].rsplit(" ", 1)[1]) >= 1
    webhook.process, webhook.address = webhook.start()
    webhook.register()
    assert _memory(webhook.kube.create(_named(objects.pod()), namespace="ml")) < 16


def test_a_registration_with_another_authority_lets_pods_pass(webhook: Webhook) -> None:
    make_certificate(webhook.tls, "other", authority="other-ca", names=("127.0.0.1",))
    other = base64.b64encode((webhook.tls / "other-ca.crt").read_bytes()).decode()
    place = "/webhooks/0/clientConfig/caBundle"
    webhook.kube.kubectl(
        "patch", "mutatingwebhookconfiguration", "prophase-prophase", "--type", "json", "-p",
        json.dumps([{"op": "replace", "path": place, "value": other}]),
    )  # fmt: skip
    until = time.monotonic() + 30
    while _memory(webhook.kube.create(_named(objects.pod()), namespace="ml")) < 16:
        assert time.monotonic() < until, "the API server still trusts the old authority"
        time.sleep(0.5)
    webhook.register()


def test_what_the_api_server_itself_refuses_is_still_refused(webhook: Webhook) -> None:
    wrong = _named(objects.pod())
    wrong["spec"]["containers"][0]["resources"]["limits"]["memory"] = "1Gi"
    with pytest.raises(RefereeError, match="must be less than or equal to memory limit"):
        webhook.kube.create(wrong, namespace="others")
