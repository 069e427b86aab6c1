"""The chart installed into a real API server by Helm, upgraded, and taken away again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.kubernetes_referee import KubernetesReferee

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "prophase"
KINDS = (
    "deployment,service,serviceaccount,configmap,secret,cronjob,networkpolicy,"
    "clusterrole,clusterrolebinding,mutatingwebhookconfiguration"
)


@pytest.fixture
def space(real_kube: KubernetesReferee) -> str:
    return real_kube.namespace()


def _helm(kube: KubernetesReferee, space: str, *arguments: str | Path) -> str:
    beside = Path(sys.executable).parent / "helm"
    program = str(beside) if beside.exists() else shutil.which("helm")
    if program is None:
        pytest.skip("Helm is not installed; it comes with the extra dev on Linux")
    done = subprocess.run(
        [program, "--kubeconfig", str(kube.kubeconfig), "--namespace", space,
         *map(str, arguments)],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "HELM_CACHE_HOME": str(kube.folder / "helm")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _ours(kube: KubernetesReferee, space: str) -> list[str]:
    listed = kube.kubectl(
        "get", KINDS, "-n", space, "-l", "app.kubernetes.io/name=prophase", "-o", "name"
    ).stdout
    # what belongs to no namespace bears the name of its own
    whole = ("clusterrole", "mutatingwebhook")
    return sorted(one for one in listed.split() if space in one or not one.startswith(whole))


def test_it_is_installed_upgraded_and_removed_without_a_trace(
    real_kube: KubernetesReferee, space: str, tmp_path: Path
) -> None:
    # the version before, of which this one is an upgrade
    before = Path(shutil.copytree(CHART, tmp_path / "prophase"))
    text = (before / "Chart.yaml").read_text("utf-8")
    (before / "Chart.yaml").write_text(text.replace("version: 0.1.0", "version: 0.0.9", 1))
    volume = ("--set", "workspace.existingClaim=there")
    _helm(real_kube, space, "install", "prophase", before, *volume)

    def secret() -> str:
        held = real_kube.get("secret", "prophase-tls", namespace=space)
        return str(held["data"]["tls.crt"])

    first = secret()
    held = _ours(real_kube, space)
    assert f"mutatingwebhookconfiguration.admissionregistration.k8s.io/{space}-prophase" in held
    assert "deployment.apps/prophase" in held
    _helm(real_kube, space, "upgrade", "prophase", CHART, *volume, "--set", "learn.enabled=true")
    # the API server trusts the certificate that is there: an upgrade keeps it
    assert secret() == first
    assert set(_ours(real_kube, space)) - set(held) == {"cronjob.batch/prophase-learn"}
    labels = real_kube.get("deployment", "prophase", namespace=space)["metadata"]["labels"]
    assert labels["helm.sh/chart"] == "prophase-0.1.0"
    _helm(real_kube, space, "uninstall", "prophase", "--wait")
    real_kube.wait_until(lambda: _ours(real_kube, space) == [], "the end of the release")


def test_its_pod_is_created_under_its_own_rules_and_its_account_may_do_what_it_needs(
    real_kube: KubernetesReferee, space: str
) -> None:
    _helm(real_kube, space, "install", "prophase", CHART, "--set", "workspace.existingClaim=there")

    def pods() -> list[str]:
        found = real_kube.get("pods", "-l", "app.kubernetes.io/component=service", namespace=space)
        return [one["metadata"]["name"] for one in found["items"]]

    real_kube.wait_until(lambda: len(pods()) == 1, "the pod of the service")
    account = f"system:serviceaccount:{space}:prophase"
    for verb, what, allowed in (
        ("create", "events", "yes"), ("list", "limitranges", "yes"), ("get", "secrets", "no"),
    ):  # fmt: skip
        said = real_kube.kubectl("auth", "can-i", verb, what, "-n", "default", "--as", account,
                                 check=False)  # fmt: skip
        assert said.stdout.strip() == allowed
    _helm(real_kube, space, "uninstall", "prophase")
