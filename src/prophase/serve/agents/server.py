"""The tools as a server of the Model Context Protocol, over stdin and stdout or over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from prophase.lazy_imports import optional
from prophase.serve.agents.tools import TOOLS, AgentTools
from prophase.serve.guard.authentication import authenticated_caller
from prophase.serve.tokens import TokenStore, allows
from prophase.version import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

_ABOUT = (
    "Prophase knows the history of jobs of one cluster. Ask before a job is submitted, why jobs "
    "wait, what to request, and what a change would do. Tools only read. Every number has an "
    "interval (low, high) or a reason; an answer with the field 'silent' is no answer: pass on why."
)


def mcp_server(folder: Path | str) -> MCPServer[None]:
    """Return the server of a workspace's tools, all of them read-only."""
    server = optional("mcp.server", "The server for agents", "mcp")
    types = optional("mcp.types", "The server for agents", "mcp")
    tools = AgentTools(folder)
    made: MCPServer[None] = server.MCPServer(
        "prophase", instructions=_ABOUT, version=__version__, log_level="WARNING"
    )
    for name in TOOLS:
        made.add_tool(
            getattr(tools, name),
            name=name,
            annotations=types.ToolAnnotations(
                read_only_hint=True, idempotent_hint=True, open_world_hint=False
            ),
        )
    return made


def http_app(folder: Path | str) -> ASGIApp:
    """Return the server over HTTP, at ``/mcp``, for callers with a token of the service."""
    return TokenGate(mcp_server(folder).streamable_http_app(), TokenStore(folder))


class TokenGate:
    """Lets in who may read: the tokens are those of ``prophase serve token add``."""

    def __init__(self, app: ASGIApp, store: TokenStore) -> None:
        self.app, self.store = app, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the words of the service."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = (scope.get("client") or ("unknown",))[0]
        caller = authenticated_caller(Headers(scope=scope), self.store, address)
        if caller.role is None or not allows(caller.role, "read"):
            said = str(caller.refusal or "this token may not read.")
            refused = JSONResponse({"error": said}, 401, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)
