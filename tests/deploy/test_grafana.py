"""The dashboard asks for metrics that the service has, in expressions that Prometheus reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.trace.workspace import Workspace

FILE = Path(__file__).parent.parent.parent / "deploy/helm/prophase/files/grafana-dashboard.json"
ALERTS = FILE.with_name("alerts.yaml")
_LATE = 'prophase_submissions_total{job="p",system="kubernetes",outcome="late"}'
_SET = 'prophase_submissions_total{job="p",system="kubernetes",outcome="set"}'
_ASKED = 'prophase_requests_total{job="p",route="/v1/ask",status="%s"}'
_BUCKET = 'prophase_request_seconds_bucket{job="p",route="/v1/predict",le="%s"}'
#: alert -> series while all is well, and while it is not; steps of a minute
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "ProphaseNotReady": (
        {'prophase_ready{job="p"}': "1x60"}, {'prophase_ready{job="p"}': "0x60"}
    ),
    "ProphaseModelDamaged": (
        {'prophase_broken_models{job="p"}': "0x60"}, {'prophase_broken_models{job="p"}': "1x60"}
    ),
    "ProphaseErrors": (
        {_ASKED % 200: "0+600x60", _ASKED % 500: "0+1x60"},
        {_ASKED % 200: "0+600x60", _ASKED % 500: "0+60x60"},
    ),
    "ProphaseAdmissionsLate": (
        {_SET: "0+600x60", _LATE: "0+6x60"}, {_SET: "0+600x60", _LATE: "0+60x60"}
    ),
    "ProphaseSlow": (
        {_BUCKET % "0.1": "0+600x60", _BUCKET % "+Inf": "0+600x60"},
        {_BUCKET % "0.1": "0+300x60", _BUCKET % "0.25": "0+600x60", _BUCKET % "+Inf": "0+600x60"},
    ),
    "ProphaseReplicasDiffer": (
        {f'prophase_model_version{{job="p",instance="{n}"}}': "3x60" for n in "ab"},
        {f'prophase_model_version{{job="p",instance="{n}"}}': f"{n}x60" for n in "34"},
    ),
    "ProphaseTasksWait": (
        {'prophase_tasks{job="p",state="waiting"}': "2x60"},
        {'prophase_tasks{job="p",state="waiting"}': "19x60"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def _expressions(dashboard: dict[str, Any]) -> list[str]:
    return [one["expr"] for panel in dashboard["panels"] for one in panel.get("targets", [])]


def test_every_metric_of_the_dashboard_is_one_of_the_service(
    dashboard: dict[str, Any], tmp_path: Path
) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    app = create_app(folder, ServiceSettings(open=True, reload_every_s=0.0))
    with TestClient(app) as client:
        client.post("/v1/submit/slurm", json={"job": {"name": "x"}})
        told = client.get("/metrics").text
    # a family with labels shows no series before it is used, but always its name and kind
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", told, re.MULTILINE))
    known = set(kinds) | {f"{name}_bucket" for name, kind in kinds.items() if kind == "histogram"}
    for expression in _expressions(dashboard):
        used = set(re.findall(r"\bprophase_\w+", expression))
        assert used
        assert used <= known, f"{used - known} of {expression}"


def test_panels_have_their_own_place_and_a_title(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert panel["title"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"


def test_prometheus_reads_every_expression(dashboard: dict[str, Any], tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("Prometheus is not installed; tools/system-packages does it")
    plain = [
        re.sub(r"\$__rate_interval|\$__range", "5m", text).replace("$job", ".*")
        for text in _expressions(dashboard)
    ]
    rules = [{"record": f"panel:{n}", "expr": text} for n, text in enumerate(plain)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}), encoding="utf-8")
    said = subprocess.run(
        [promtool, "check", "rules", str(file)], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{len(rules)} rules found" in said.stdout


def test_every_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("Prometheus is not installed; tools/system-packages does it")
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    assert {rule["alert"] for rule in group["rules"]} == set(CASES)
    rules = {rule["alert"]: rule for rule in group["rules"]}
    # what it says is checked by Prometheus when it fires; here it is enough that it does
    plain = [{**rule, "annotations": {}} for rule in group["rules"]]
    checked = tmp_path / "plain.yaml"
    checked.write_text(yaml.safe_dump({"groups": [{**group, "rules": plain}]}), encoding="utf-8")
    tests = []
    for name, cases in CASES.items():
        for fires, series in enumerate(cases):
            labels = {"job": "p", "severity": rules[name]["labels"]["severity"]}
            expected = [{"exp_labels": labels, "exp_annotations": {}}] if fires else []
            tests.append(
                {
                    "interval": "1m",
                    "input_series": [{"series": k, "values": v} for k, v in series.items()],
                    "alert_rule_test": [
                        {"eval_time": "55m", "alertname": name, "exp_alerts": expected}
                    ],
                }
            )
    file = tmp_path / "tests.yaml"
    told = {"rule_files": [str(checked)], "evaluation_interval": "1m", "tests": tests}
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    for words in (["check", "rules", str(ALERTS)], ["test", "rules", str(file)]):
        said = subprocess.run(
            [promtool, *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert said.returncode == 0, said.stdout + said.stderr


def test_every_metric_of_an_alert_is_explained() -> None:
    guide = (FILE.parents[4] / "docs/guides/watch-the-service.md").read_text(encoding="utf-8")
    for name in CASES:
        assert name in guide
    for name in set(re.findall(r"\bprophase_\w+", ALERTS.read_text(encoding="utf-8"))):
        assert re.sub(r"_bucket$", "", name) in guide, name
