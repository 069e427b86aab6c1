"""The chart is linted and rendered by Helm itself, and held against the official schemas."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from prophase import __version__
from prophase.serve.submit.policy import SubmitPolicy
from prophase.study.workspace_models import request_settings

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "prophase"
VERSIONS = ("1.27", "1.34")
#: kinds of operators, of which the official schemas know nothing
FOREIGN = ("cert-manager.io/v1", "monitoring.coreos.com/v1")
EVERYTHING = (
    "--set", "learn.enabled=true,networkPolicy.enabled=true,metrics.serviceMonitor=true",
    "--set", "metrics.dashboard=true,metrics.alerts=true,learn.tokenSecret=prom",
    "--set", "workspace.storageClassName=fast",
    "--set", "settings.submit.namespaces.team-a.mode=set",
)  # fmt: skip


def _helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).parent / "helm"
    program = str(beside) if beside.exists() else shutil.which("helm")
    if program is None:
        pytest.skip("Helm is not installed; it comes with the extra dev on Linux")
    return subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )


@cache
def _rendered(*options: str) -> list[dict[str, Any]]:
    said = _helm("template", "prophase", CHART, "--namespace", "prophase", *options)
    assert said.returncode == 0, said.stderr
    return [one for one in yaml.safe_load_all(said.stdout) if one]


def _one(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (one for one in documents if one["kind"] == kind)
    return found


def test_the_chart_passes_helms_own_lint() -> None:
    said = _helm("lint", "--strict", CHART)
    assert said.returncode == 0, said.stdout + said.stderr
    said = _helm("lint", "--strict", CHART, *EVERYTHING)
    assert said.returncode == 0, said.stdout + said.stderr


REPLICAS = (
    "--set", "replicas=3,database.existingSecret=prophase-db,networkPolicy.enabled=true",
    "--set-json", 'networkPolicy.to=[{"ports": [{"protocol": "TCP", "port": 5432}]}]',
    "--set", "learn.enabled=true",
)  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [(), EVERYTHING, ("--set", "certManager.enabled=true,webhook.enabled=false"), REPLICAS],
    ids=["defaults", "everything", "cert-manager", "replicas"],
)  # fmt: skip
def test_every_rendered_object_fits_the_official_schemas(options: tuple[str, ...]) -> None:
    documents = _rendered(*options)
    assert len({(one["kind"], one["metadata"]["name"]) for one in documents}) == len(documents)
    for one in documents:
        if one["apiVersion"] not in FOREIGN:
            for version in VERSIONS:
                kubernetes_validate.validate(one, version, strict=True)


def test_replicas_share_a_database_and_are_replaced_one_after_the_other() -> None:
    documents = _rendered(*REPLICAS)
    deployment = _one(documents, "Deployment")["spec"]
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = deployment["template"]["spec"]
    (service,) = pod["containers"]
    secrets = {one["name"]: one.get("valueFrom") for one in service["env"]}
    assert secrets["PROPHASE_DATABASE"] == {"secretKeyRef": {"name": "prophase-db", "key": "url"}}
    assert "emptyDir" in next(one for one in pod["volumes"] if one["name"] == "workspace")
    assert "preStop" in service["lifecycle"]
    assert _one(documents, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert _one(documents, "NetworkPolicy")["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert not [one for one in documents if one["kind"] == "PersistentVolumeClaim"]
    (learn,) = _one(documents, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert "models fetch" in learn["args"][0]
    assert learn["args"][0].rstrip().endswith("models publish --workspace /workspace")
    refused = _helm("template", "prophase", CHART, "--set", "replicas=3")
    assert refused.returncode != 0
    assert "set database.existingSecret" in refused.stderr
    assert not [one for one in _rendered() if one["kind"] == "PodDisruptionBudget"]


def test_no_pod_ever_waits_for_prophase() -> None:
    (webhook,) = _one(_rendered(), "MutatingWebhookConfiguration")["webhooks"]
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["timeoutSeconds"] == 1
    assert webhook["sideEffects"] == "NoneOnDryRun"
    assert webhook["clientConfig"]["service"]["path"] == "/v1/submit/kubernetes"
    assert webhook["clientConfig"]["caBundle"]
    # only namespaces that asked for it, never the cluster's own
    selector = webhook["namespaceSelector"]
    assert selector["matchLabels"] == {"prophase.dev/webhook": "enabled"}
    assert {"kube-system", "prophase"} <= set(selector["matchExpressions"][0]["values"])


def test_the_settings_are_a_policy_that_the_service_understands() -> None:
    text = _one(_rendered(), "ConfigMap")["data"]["prophase.toml"]
    policy = SubmitPolicy.of(tomllib.loads(text))
    assert (policy.rules.mode, policy.token) == ("dry-run", False)
    assert request_settings(tomllib.loads(text))[0] == 0.01
    more = _rendered(
        "--set-json", 'settings.submit.namespaces={"exp-*": {"mode": "set", "only_labelled": true}}'
    )
    policy = SubmitPolicy.of(tomllib.loads(_one(more, "ConfigMap")["data"]["prophase.toml"]))
    assert policy.rules_for("exp-1", {"prophase.dev/mode": "set"}).mode == "set"


def test_pods_run_without_rights_and_are_not_looked_at_themselves() -> None:
    documents = _rendered("--set", "learn.enabled=true")
    service = _one(documents, "Deployment")["spec"]["template"]
    learn = _one(documents, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    for template in (service, learn):
        assert template["metadata"]["labels"]["prophase.dev/mode"] == "off"
        assert template["spec"]["securityContext"]["runAsNonRoot"] is True
        for container in template["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
    rules = _one(documents, "ClusterRole")["rules"]
    assert [(one["resources"], one["verbs"]) for one in rules] == [
        (["events"], ["create"]), (["limitranges"], ["list"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    ["settings.submit.mode=sett", "settings.submit.limits=drop", "webhook.timeoutSeconds=60",
     "settings.submit.moode=set"],
)  # fmt: skip
def test_values_that_make_no_sense_are_refused(wrong: str) -> None:
    said = _helm("template", "prophase", CHART, "--set", wrong)
    assert said.returncode != 0
    assert "values don't meet the specifications" in said.stderr


def test_the_plain_manifests_are_those_of_the_chart() -> None:
    kept = (ROOT / "deploy" / "kubernetes" / "prophase.yaml").read_text(encoding="utf-8")
    made = _helm(
        "template", "prophase", CHART, "--namespace", "prophase",
        "--set", "certManager.enabled=true", "--set", "learn.enabled=true",
    )  # fmt: skip
    said = "deploy/kubernetes/prophase.yaml is old; run tools/render-manifests"
    assert kept.split("\n", 2)[2] == made.stdout, said


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__
