"""prophase serve models: the tables and models that replicas share."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.command_group import command_group
from prophase.cli.output import Format, FormatOption, WorkspaceOption, say, show_result
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.serve.model_versions import ModelVersion, ModelVersions

app = command_group(
    "prophase.cli.serve",
    {
        "list": "models:list_versions",
        "publish": "models:publish",
        "fetch": "models:fetch",
        "use": "models:use",
    },
    help="""Publish tables and models to all replicas of a service, or go back to earlier ones.

    Examples:

    `prophase serve models publish --workspace ws`

    `prophase serve models use 3 --workspace ws`
    """,
)
_HERE = Path("workspace")


def list_versions(workspace: WorkspaceOption = _HERE, format: FormatOption = Format.table) -> None:
    """List the versions that are kept, the latest first.

    Example:

    `prophase serve models list --workspace ws`
    """
    with _versions(workspace) as versions:
        rows = [_row(one) for one in versions.all()]
    notes = [] if rows else ["Nothing is published yet: prophase serve models publish"]
    show_result(Result.of_rows("serve-models-list", rows, notes=notes), format)


def publish(workspace: WorkspaceOption = _HERE, format: FormatOption = Format.table) -> None:
    """Make the tables and models of this workspace the ones that all replicas answer from.

    Example:

    `prophase serve models publish --workspace ws`
    """
    with _versions(workspace) as versions:
        made = versions.publish(socket.gethostname())
        number = versions.number
    row: JsonObject = {"version": number, "new": made is not None}
    _show("serve-models-publish", row, format)
    say(
        f"Version {number} is in use now."
        if made
        else f"Version {number} is in use, and this workspace is the same."
    )


def fetch(workspace: WorkspaceOption = _HERE, format: FormatOption = Format.table) -> None:
    """Take over the version in use; tables and models of this workspace are replaced.

    Example:

    `prophase serve models fetch --workspace ws`
    """
    with _versions(workspace) as versions:
        changed = versions.fetch()
        number = versions.number
    row: JsonObject = {"version": number, "changed": changed}
    _show("serve-models-fetch", row, format)
    say("Nothing is published yet." if number is None else f"This workspace has version {number}.")


def use(
    version: Annotated[int, typer.Argument(min=1, help="Number of the version.")],
    workspace: WorkspaceOption = _HERE,
    format: FormatOption = Format.table,
) -> None:
    """Go back to a version that was published before, or forward again; replicas switch to it.

    Example:

    `prophase serve models use 3 --workspace ws`
    """
    from prophase.serve.audit import note_command

    with _versions(workspace) as versions:
        versions.use(version)
    note_command(workspace, "prophase serve models use", {"version": version})
    _show("serve-models-use", {"version": version}, format)
    say(f"Version {version} is in use now; replicas switch to it within seconds.")


@contextmanager
def _versions(workspace: Path) -> Iterator[ModelVersions]:
    from prophase.serve.model_versions import ModelVersions
    from prophase.trace.service_database import shared_address
    from prophase.trace.workspace import Workspace

    if shared_address(Workspace(workspace).folder) is None:
        raise ParameterError(
            "this service has no replicas: it answers from the workspace itself. To share models, "
            "set PROPHASE_DATABASE=postgresql://USER@HOST/NAME, or database below [serve] of "
            "prophase.toml."
        )
    versions = ModelVersions(workspace)
    try:
        yield versions
    finally:
        versions.close()


def _show(key: str, row: JsonObject, format: Format) -> None:
    show_result(Result.of_rows(key, [] if format is Format.table else [row], values=row), format)


def _row(one: ModelVersion) -> JsonObject:
    return {
        "version": one.number,
        "in_use": one.in_use,
        "made_at": one.made_at,
        "made_by": one.made_by,
        "files": counted(len(one.files), "file"),
    }
