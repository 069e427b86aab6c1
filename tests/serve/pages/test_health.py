from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS


def test_the_health_page_says_what_is_missing_and_what_is_broken(tmp_path: Path) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    settings = ServiceSettings(open=True, reload_every_s=0)
    with TestClient(create_app(folder, settings)) as client:
        told = client.get("/health").text
        assert "there is no model, so jobs pass as they are" in told
        assert "prophase learn ws" in told
        assert "a file in the workspace" in told
        client.post("/v1/observe", json={"jobs": [{"job_id": "1", "duration_s": 5}]})
        (folder / PREDICTIONS).parent.mkdir()
        (folder / PREDICTIONS).write_bytes(b"no model")
        client.post("/v1/reload")
        told = client.get("/health").text
        assert "predictions.model" in told
        assert 'class="badge bad"' in told
        assert "1, on the disk before confirmation" in told
