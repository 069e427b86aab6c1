"""prophase: the command line."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from prophase.cli.command_group import command_group
from prophase.cli.first_page import PAGE, FirstPage
from prophase.errors import ProphaseError, storage_error
from prophase.version import __version__

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


#: command, or group of commands, -> module where it is not of the same name
_MODULES = {"import": "import_", "schedule-study": "schedule_study"}
COMMANDS = {name: _MODULES.get(name, name) for group in PAGE.values() for name in group}

app = command_group(
    "prophase.cli",
    COMMANDS,
    renamed={"sbatch-advice": "sbatch", "scale": "autoscale"},
    base=FirstPage,
    name="prophase",
    pretty_exceptions_enable=False,
    help="Know what ML jobs on a shared cluster need, and prove it on your own history.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prophase {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show the traceback of an error. May stand anywhere."
    ),
    json: bool = typer.Option(
        False, "--json", help="Short for --format json of the command. May stand anywhere."
    ),
) -> None:
    """Options of every command."""


def run() -> None:
    """Run the command line and leave with 0 (done), 1 (found a problem) or 2 (asked wrongly)."""
    try:
        try:
            with interrupts_passed_on():
                _answer()
        finally:
            # here and not when Python shuts down, where a broken pipe could not be caught
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # the reader of our output has gone, as in: prophase show | head
        if not any(isinstance(error, BrokenPipeError) for error in (end, end.__context__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer() -> None:
    arguments, debug = _spelt_out(sys.argv[1:])
    try:
        app(args=arguments, prog_name="prophase")
    except (ProphaseError, OSError) as error:
        told = _told(error)
        if debug or told is None:
            raise
        typer.echo(f"prophase: {told}", err=True)
        sys.exit(told.exit_code)


def _told(error: ProphaseError | OSError) -> ProphaseError | None:
    """Return what is said of an error; a pipe or a connection that breaks names no file."""
    if isinstance(error, ProphaseError):
        return error
    return None if error.filename is None else storage_error(error, error.filename)


def _spelt_out(arguments: list[str]) -> tuple[list[str], bool]:
    """Return the arguments without what may stand anywhere, and whether to show tracebacks.

    What follows ``--`` belongs to another program.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    ours, theirs = arguments[:end], arguments[end:]
    debug = "--debug" in ours
    if "--json" in ours:
        ours = [*ours, "--format", "json"]
    return [word for word in ours if word not in ("--debug", "--json")] + theirs, debug


#: long enough for the destructor and its hook to end
_SOON_S = 0.01


@contextmanager
def interrupts_passed_on() -> Iterator[None]:
    """Interrupt again what Ctrl-C hit inside a destructor, where Python only remarks on it."""
    before = sys.unraisablehook

    def hook(about: UnraisableHookArgs) -> None:
        if not issubclass(about.exc_type, KeyboardInterrupt):
            before(about)
            return
        again = threading.Timer(_SOON_S, _thread.interrupt_main)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
