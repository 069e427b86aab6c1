from __future__ import annotations

import json
from pathlib import Path

from fastapi.testclient import TestClient

from prophase.result.json_form import FORMAT


def test_reports_are_listed_and_opened_and_nothing_else_is(
    workspace: Path, client: TestClient
) -> None:
    folder = workspace / "reports" / "saving"
    folder.mkdir(parents=True)
    document = {"format": FORMAT, "title": "Saving", "question": "How much?", "answer": "A lot."}
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "report.html").write_text("<h1>Saving</h1>", encoding="utf-8")
    (workspace / "reports" / "damaged").mkdir()
    (workspace / "reports" / "damaged" / "report.json").write_text("{", encoding="utf-8")
    assert [one["name"] for one in client.get("/v1/reports").json()] == ["saving"]
    assert client.get("/v1/reports/saving").json() == document
    page = client.get("/v1/reports/saving/page")
    assert page.text == "<h1>Saving</h1>"
    policy = page.headers["content-security-policy"]
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    assert "sandbox" in policy
    missing = client.get("/v1/reports/savings")
    assert missing.status_code == 404
    assert "Did you mean 'saving'?" in missing.json()["detail"]
    assert client.get("/v1/reports/damaged").status_code == 404
