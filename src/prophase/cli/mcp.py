"""prophase mcp: the questions of a workspace as tools for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import as_typed, say
from prophase.errors import ParameterError, WorkspaceError
from prophase.lazy_imports import optional


def command(
    path: Annotated[
        Path, typer.Argument(envvar="PROPHASE_WORKSPACE", help="Workspace to answer from.")
    ] = Path("workspace"),
    http: Annotated[
        bool,
        typer.Option("--http", help="Listen for HTTP at /mcp instead of stdin and stdout."),
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8766,
) -> None:
    """Answer agents over the Model Context Protocol: ask, size, prove, simulate, explain.

    The tools only read. Over stdin and stdout whoever starts the command may ask; over HTTP the
    tokens are those of prophase serve. Every answer has an interval or a reason, or is silent and
    says why.

    Examples:

    `prophase mcp ws`

    `prophase mcp ws --http --port 8766`
    """
    from prophase.trace.workspace import Workspace

    optional("mcp", "The server for agents", "mcp")
    optional("fastapi", "The server for agents", "mcp")
    if not Workspace.is_at(path):
        raise WorkspaceError(
            f"{path}: is not a workspace. Make one of your history: prophase study my-trace.csv"
        )
    from prophase.serve.agents.server import http_app, mcp_server

    if not http:
        mcp_server(path).run("stdio")
        return
    from prophase.serve.tokens import TokenStore

    if not TokenStore(path).all():
        raise ParameterError(
            "--http: nobody could ask, as there is no token yet. Make one first: "
            f"prophase serve token add NAME --workspace {as_typed(path)}"
        )
    uvicorn = optional("uvicorn", "The server for agents", "mcp")
    say(f"Answering agents at http://{host}:{port}/mcp")
    uvicorn.run(http_app(path), host=host, port=port, log_level="warning")
