"""The event loop answers and does not compute: predictions stay quick beside long work."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.serve.conftest import Serve

#: processor time that one step of the loop may take; other requests wait for that long
MOST_S = 0.25


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Processor time of every step of every event loop; no other process can lengthen it."""
    found: list[float] = []
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        found.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    return found


def test_no_step_takes_long_while_pages_and_a_task_compute(
    serve: Serve, steps: list[float]
) -> None:
    client = serve()
    asked = {"jobs": [{"user": "u1"}]}
    task = client.post("/v1/size", json={}).json()["id"]
    for page in ("/", "/ask", "/profiles", "/phases", "/sizing", "/simulator", "/runs", "/reports"):
        assert client.get(page).status_code == 200, page
        assert client.post("/v1/predict", json=asked).status_code == 200
        assert client.post("/v1/ask", json=asked).status_code == 200
    client.delete(f"/v1/tasks/{task}")
    assert len(steps) > 50
    assert max(steps) < MOST_S
