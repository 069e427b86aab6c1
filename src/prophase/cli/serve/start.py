"""prophase serve start: begin to answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import say
from prophase.lazy import optional


def command(
    path: Annotated[Path, typer.Argument(help="Workspace to answer from.")] = Path("workspace"),
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8765,
) -> None:
    """Start the service and the dashboard of a workspace; Ctrl-C stops it.

    Example:

    `prophase serve ws`, and open the address it prints.
    """
    uvicorn = optional("uvicorn", "the service", "serve")
    optional("fastapi", "the service", "serve")
    from prophase.serve.app import create_app
    from prophase.serve.settings import Settings

    settings = Settings(host=host, port=port)
    app = create_app(path, settings)
    say(f"Serving {path} at {settings.address} (Ctrl-C stops)")
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
