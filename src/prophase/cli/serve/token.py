"""prophase serve token: who may ask the service, and what."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.command_group import command_group
from prophase.cli.output import Format, FormatOption, WorkspaceOption, say, show_result
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import TenantOption
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.serve.tokens import Token, TokenStore

app = command_group(
    "prophase.cli.serve",
    {"add": "token:add", "list": "token:list_tokens", "revoke": "token:revoke"},
    help="""Make, list and revoke the tokens of a service.

    Examples:

    `prophase serve token add ci --role feedback --valid-days 90 --workspace ws`
    """,
)
NameArgument = Annotated[str, typer.Argument(help="What the token is called, such as ci.")]
_HERE = Path("workspace")


def add(
    name: NameArgument,
    role: Annotated[
        str, typer.Option(help="read: ask; feedback: also report finished jobs; admin: all.")
    ] = "read",
    days: Annotated[
        float,
        typer.Option("--valid-days", help="Days until it expires; 0 for never."),
        Formerly("--days"),
    ] = 365,
    tenant: TenantOption = None,
    workspace: WorkspaceOption = _HERE,
    format: FormatOption = Format.table,
) -> None:
    """Make a token and print it, this once: only its hash is kept.

    Example:

    `prophase serve token add ci --role feedback --tenant nlp --workspace ws`
    """
    store = _store(workspace)
    tenants = tenant or []
    secret = store.add(name, role, days=days or None, tenants=tenants)
    _audited(workspace, "add", {"token": name, "role": role, "tenants": tenants})
    made = next(one for one in store.all() if one.name == name)
    row = {
        "name": name, "role": role, "expires_at": made.expires_at, "tenants": tenants,
        "token": secret,
    }  # fmt: skip
    if format is Format.table:
        typer.echo(secret)
        ends = f"until {made.expires_at}" if made.expires_at else "without end"
        whose = f" for {', '.join(tenants)}" if tenants else ""
        say(f"{name} may {role}{whose}, {ends}. Keep the token: it cannot be shown again.")
        return
    show_result(Result.of_rows("serve-token-add", [row], values=row), format)


def list_tokens(workspace: WorkspaceOption = _HERE, format: FormatOption = Format.table) -> None:
    """List tokens by name; none of them can be shown.

    Example:

    `prophase serve token list --workspace ws`
    """
    now = datetime.now(UTC)
    rows = [_row(one, now) for one in _store(workspace).all()]
    nobody = "There are no tokens: nobody may ask, unless the service is started with --open."
    remarks = [] if rows else [nobody]
    show_result(Result.of_rows("serve-token-list", rows, notes=remarks), format)


def revoke(
    name: NameArgument, workspace: WorkspaceOption = _HERE, format: FormatOption = Format.table
) -> None:
    """Forget a token; a service that runs refuses it from the next request on.

    Example:

    `prophase serve token revoke ci --workspace ws`
    """
    store = _store(workspace)
    known = [one.name for one in store.all()]
    if not store.revoke(name):
        raise ParameterError(not_among(f"there is no token {name!r}.", name, known))
    _audited(workspace, "revoke", {"token": name})
    row = {"revoked": name}
    show_result(
        Result.of_rows("serve-token-revoke", [] if format is Format.table else [row], values=row),
        format,
    )
    say(f"{name} is revoked.")


def _store(workspace: Path) -> TokenStore:
    from prophase.serve.tokens import TokenStore
    from prophase.trace.workspace import Workspace

    return TokenStore(Workspace(workspace).folder)


def _row(token: Token, now: datetime) -> JsonObject:
    return {
        "name": token.name,
        "role": token.role,
        "made_at": token.made_at,
        "expires_at": token.expires_at,
        "expired": token.expired(now),
        "tenants": ", ".join(token.tenants) or "all",
    }


def _audited(workspace: Path, what: str, details: JsonObject) -> None:
    """Note in the audit log which user of this machine changed the tokens."""
    from prophase.serve.audit import note_command

    note_command(workspace, f"prophase serve token {what}", details)
