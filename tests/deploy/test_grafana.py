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
