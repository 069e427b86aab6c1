"""Agents ask over the Model Context Protocol, through its official client."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import prophase as ph
from prophase.serve.agents.server import http_app, mcp_server
from prophase.serve.agents.tools import TOOLS
from prophase.serve.tokens import TokenStore
from prophase.trace.workspace import Workspace

T = TypeVar("T")


def _alone(question: Coroutine[Any, Any, T]) -> T:
    """Run in a thread of its own: a browser of other tests keeps a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, question).result()


def asked(server: Any, question: Callable[[Client], Awaitable[T]]) -> T:
    async def inside() -> T:
        async with Client(server) as client:
            return await question(client)

    return _alone(inside())


def told(server: Any, tool: str, **given: Any) -> dict[str, Any]:
    async def question(client: Client) -> dict[str, Any]:
        done = await client.call_tool(tool, given)
        assert not done.is_error, done.content
        found: dict[str, Any] = json.loads(done.content[0].text)  # type: ignore[union-attr]
        return found

    return asked(server, question)


def test_every_tool_is_offered_as_read_only_and_says_what_it_does(workspace: Path) -> None:
    async def question(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(mcp_server(workspace), question)
    assert [one.name for one in tools] == list(TOOLS)
    for one in tools:
        assert one.annotations.read_only_hint
        assert len(one.description) > 40


def test_an_agent_gets_the_answer_that_everybody_gets(workspace: Path) -> None:
    job = Workspace(workspace).read("jobs").iloc[-1]
    given = {"user": str(job["user"]), "task": str(job["task"]), "gpus": 1}
    found = told(mcp_server(workspace), "ask_before_submit", job=given)
    expected = json.loads(json.dumps(ph.ask(workspace, given).to_dict()))
    assert found["targets"] == expected["targets"]
    first = found["targets"][0]
    assert first["low"] <= first["value"] <= first["high"]
    assert first["reason"]


def test_each_tool_answers_with_numbers_or_with_a_reason(workspace: Path) -> None:
    server = mcp_server(workspace)
    job = str(Workspace(workspace).read("jobs")["job_id"].iloc[0])
    answers = {
        "about_workspace": {},
        "recommend_request": {"job": {"user": "ann", "memory": "16Gi"}},
        "list_recommendations": {},
        "prove_recommendation": {},
        "why_waiting": {},
        "simulate_change": {"policy": "shortest"},
        "find_waste": {},
        "explain_job": {"job_id": job},
        "search_jobs": {"most": 3},
    }
    found = {name: told(server, name, **given) for name, given in answers.items()}
    silent = {
        name: one["silent"] for name, one in found.items() if isinstance(one.get("silent"), str)
    }
    assert silent == {}
    assert found["about_workspace"]["tables"]["jobs"] > 0
    assert found["recommend_request"]["requests"] or found["recommend_request"]["silent"]
    checks = found["prove_recommendation"]["verdict"]["checks"]
    assert all({"value", "low", "high"} <= set(one) for one in checks)
    assert found["why_waiting"]["causes"]
    assert found["why_waiting"]["in_words"]
    assert len(found["simulate_change"]["rows"]) >= 2
    share = found["find_waste"]["rows"][0]["resources"]["memory"]["used_share"]
    assert 0 <= share["value"] <= 1
    assert found["explain_job"]["job"]["job_id"] == job
    assert len(found["search_jobs"]["jobs"]) == 3


def test_what_cannot_be_answered_is_silent_and_says_why(workspace: Path) -> None:
    server = mcp_server(workspace)
    assert "no job 'nope'" in told(server, "explain_job", job_id="nope")["silent"]
    shutil.rmtree(workspace / "models")
    assert "prophase learn" in told(server, "ask_before_submit", job={"user": "ann"})["silent"]


def test_the_command_answers_over_stdin_and_stdout(workspace: Path) -> None:
    program = str(Path(sys.executable).parent / "prophase")
    server = StdioServerParameters(command=program, args=["mcp", str(workspace)])
    assert told(server, "about_workspace")["workspace"] == workspace.name


def test_over_http_the_tokens_are_those_of_the_service(workspace: Path) -> None:
    secret = TokenStore(workspace).add("agent", "read")
    app = http_app(workspace)

    async def inside() -> None:
        inner = app.app  # type: ignore[attr-defined]
        async with inner.router.lifespan_context(inner):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport) as bare:
                refused = await bare.post("http://127.0.0.1:8766/mcp", json={})
                assert refused.status_code == 401
                assert "a token is needed" in refused.json()["error"]
            headers = {"Authorization": f"Bearer {secret}"}
            async with httpx2.AsyncClient(transport=transport, headers=headers) as known:
                way = streamable_http_client("http://127.0.0.1:8766/mcp", http_client=known)
                async with Client(way) as client:
                    done = await client.call_tool("about_workspace", {})
                    assert not done.is_error

    _alone(inside())
