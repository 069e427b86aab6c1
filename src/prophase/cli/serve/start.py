"""prophase serve start: begin to answer."""

from __future__ import annotations

import gc
import logging
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import as_typed, say
from prophase.cli.settings import Formerly
from prophase.errors import ParameterError
from prophase.lazy_imports import optional

if TYPE_CHECKING:
    from prophase.serve.settings import ServiceSettings


def command(
    path: Annotated[
        Path, typer.Argument(envvar="PROPHASE_WORKSPACE", help="Workspace to answer from.")
    ] = Path("workspace"),
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Further name by which browsers may open it; repeatable."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM file of the certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of its key.")] = None,
    campaign: Annotated[
        Path | None,
        typer.Option(
            "--campaign",
            "-c",
            help="Folder of the campaign. [default: campaign in the workspace]",
        ),
    ] = None,
    max_body_mib: Annotated[float, typer.Option(min=0.01, help="Largest request, in MiB.")] = 16,
    timeout: Annotated[
        str, typer.Option(help=f"Longest time for one request, {units.DURATION_HELP}.")
    ] = "60s",
    rate: Annotated[
        float, typer.Option(min=0, help="Requests per second and caller; 0 for no limit.")
    ] = 500,
    open: Annotated[
        bool,
        typer.Option(
            "--open", help="Let everybody on this machine do all, without tokens; loopback only."
        ),
    ] = False,
    log: Annotated[
        bool,
        typer.Option("--access-log", help="Write a line per request to stderr."),
        Formerly("--log"),
    ] = False,
) -> None:
    """Start the service and the dashboard of a workspace; Ctrl-C stops it.

    It listens on localhost unless --host is given, and asks for a token (prophase serve token add)
    unless --open is given. New tables and models are loaded while it runs.

    Examples:

    `prophase serve ws --open`, and open the address it prints.

    `prophase serve start ws --host 0.0.0.0 --tls-cert service.pem --tls-key service.key`
    """
    uvicorn = optional("uvicorn", "the service", "serve")
    for needed in ("fastapi", "jinja2", "prometheus_client"):
        optional(needed, "the service", "serve")
    from prophase.serve.app import create_app
    from prophase.serve.server import KEEP_ALIVE_S, Server, bounded
    from prophase.serve.settings import ServiceSettings, further_limits
    from prophase.trace.workspace import Workspace

    if (tls_cert is None) != (tls_key is None):
        raise ParameterError("TLS needs both --tls-cert and --tls-key.")
    for pem in (tls_cert, tls_key):
        if pem is not None and not pem.is_file():
            raise ParameterError(f"{pem}: there is no such file. Name the PEM file of your TLS.")
    settings = ServiceSettings(
        host=host,
        port=port,
        open=open,
        names=tuple(name or ()),
        certificate=tls_cert,
        key=tls_key,
        campaign=campaign,
        max_body_bytes=int(max_body_mib * 2**20),
        timeout_s=units.parse_duration(timeout, bare="s", where="--timeout", positive=True),
        requests_per_s=rate,
        **further_limits(Workspace(path).settings),
    )
    app = create_app(path, settings)
    tokens = app.state.tokens.all()
    if open and tokens:
        raise ParameterError(
            f"{as_typed(path)} has {len(tokens)} token(s), and --open would pass over them. Leave "
            f"--open out, or revoke them with: prophase serve token revoke {tokens[0].name} "
            f"--workspace {as_typed(path)}"
        )
    listening = _listen(settings)
    _log_to_stderr(logging.INFO if log else logging.WARNING)
    shown = ServiceSettings(host=host, port=listening.getsockname()[1], certificate=tls_cert)
    say(f"Serving {path} at {shown.address} (Ctrl-C stops)")
    for what, error in app.state.library.now.broken.items():
        say(f"The {what} are not used: {error}")
    if "predictions" not in app.state.library.now.models:
        say(f"Nothing can be predicted yet. Learn with: prophase learn {as_typed(path)}")
    if not tokens and not open and settings.oidc is None:
        say(
            "Nobody may ask yet. Make a token with: prophase serve token add NAME --role admin "
            f"--workspace {as_typed(path)}; or start with --open for this machine alone."
        )
    config = uvicorn.Config(
        app,
        http=bounded(settings),
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=64 << 10,
    )
    # what is loaded now stays; looking through it for garbage would hold up answers for 0.1 s
    gc.collect()
    gc.freeze()
    Server(config).run(sockets=[listening])


def _listen(settings: ServiceSettings) -> socket.socket:
    """Open the port now, so that a port in use is reported in our words."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # said to be TCP, or asyncio would let small answers wait for each other (Nagle)
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
    except OSError as cause:
        made.close()
        raise ParameterError(
            f"cannot listen at {settings.host} port {settings.port}: {cause.strerror}. Choose "
            "another with --port, or 0 for a free one."
        ) from cause
    # now, so that a browser that is opened while we start waits and is not refused
    made.listen(2048)
    return made


def _log_to_stderr(level: int) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("prophase.serve")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
