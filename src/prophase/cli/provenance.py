"""What the numbers of a command depend on: the data it has read, its seed, this version.

Noted while the command runs, and written beside its result by
:func:`prophase.cli.output.show_result` and beside its tables by :func:`write_provenance`.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prophase.atomic_files import write_whole
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import as_typed
from prophase.provenance import with_provenance

if TYPE_CHECKING:
    from prophase.trace.trace_tables import Trace

#: hashes of the data that was read, and the seed, of the command that runs
_hashes: ContextVar[tuple[str, ...]] = ContextVar("hashes", default=())
_model_hash: ContextVar[str] = ContextVar("model_hash", default="")
_seed: ContextVar[int | None] = ContextVar("seed", default=None)
#: the command that runs, and the first sentence of its help
_asked: ContextVar[tuple[str, str]] = ContextVar("asked", default=("prophase", ""))


def forget_provenance(*, seed: int | None, command: str = "", help: str = "") -> None:
    """Begin a command: nothing has been read, and this is its seed."""
    _asked.set((command, " ".join(help.split("\n\n")[0].split())))
    _hashes.set(())
    _model_hash.set("")
    _seed.set(seed)


def open_trace(
    path: Path,
    *,
    source: str | None = None,
    options: Mapping[str, str] | None = None,
    tables: Sequence[str] | None = None,
    columns: Collection[str] | None = None,
    by: str | None = None,
    by_column: bool = False,
) -> Trace:
    """Return what :func:`prophase.trace.trace_tables.open_trace` returns, and note its hash."""
    from prophase.trace import trace_tables as loading

    trace = loading.open_trace(
        path,
        source=source,
        options=options,
        tables=tables,
        columns=columns,
        by=by,
        by_column=by_column,
    )
    note_data(trace.data_hash)
    if trace.guessed is not None:
        tell_guess(path, trace.guessed)
    return trace


def tell_guess(path: Path, mapping: str) -> None:
    """Say on stderr that the meaning of columns was guessed, and how sure that is."""
    from prophase.trace.source_recognition import unsure_columns

    unsure = unsure_columns(mapping)
    typer.echo(
        f"{path}: the meaning of its columns was guessed from their names"
        + (f"; unsure: {'; '.join(unsure)}" if unsure else "")
        + f". See it with: prophase import csv {as_typed(path)} --guess",
        err=True,
    )


def note_data(data_hash: str) -> None:
    """Note that the result depends on data with this hash."""
    if data_hash and data_hash not in _hashes.get():
        _hashes.set((*_hashes.get(), data_hash))


def note_model(data_hash: str) -> None:
    """Note the data that a model was learnt from; it counts if the command reads no other."""
    _model_hash.set(data_hash)


def command_asked() -> tuple[str, str]:
    """Return the command that runs, and the first sentence of its help."""
    return _asked.get()


def with_recorded_provenance(document: JsonMapping) -> JsonObject:
    """Return the result of the command that runs, with all that it depends on."""
    read = "+".join(_hashes.get())
    return with_provenance(document, data_hash=read or _model_hash.get(), seed=_seed.get())


def typed_command() -> str:
    """Return the command as the user typed it, quoted so that it can be run again."""
    return shlex.join(["prophase", *sys.argv[1:]])


def write_provenance(target: Path, tables: Sequence[Path]) -> None:
    """Say in a file beside tables which command made them, from what; their bytes are hashed."""
    hashes = {}
    for table in tables:
        with table.open("rb") as content:
            hashes[table.name] = hashlib.file_digest(content, "sha256").hexdigest()
    origin = with_recorded_provenance({"command": typed_command(), "sha256": hashes})
    write_whole(target, json.dumps(origin, indent=1) + "\n")
