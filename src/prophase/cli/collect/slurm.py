"""prophase collect slurm: the jobs of a Slurm site that ended since the last time."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    WorkspaceOption,
    as_typed,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.errors import MissingFileError, ParameterError, ProphaseError, storage_error
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.integrations.slurm.collector import SlurmCollector
    from prophase.trace.collect.collection import Collection


@dataclass(frozen=True)
class SlurmServer:
    """Where a Slurm is asked."""

    rest: Annotated[
        str | None,
        typer.Option(help="Ask slurmrestd at this address instead of sacct: http://HOST:6820"),
    ] = None
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the JWT for slurmrestd. [default: the variable SLURM_JWT]"),
    ] = None
    user: Annotated[
        str | None, typer.Option("--token-user", help="User whom the JWT is for. [default: you]")
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option("--slurm-cluster", help="Name of the cluster, where Slurm knows several."),
    ] = None

    def collector(self) -> SlurmCollector:
        """Return what asks that Slurm."""
        from prophase.integrations.slurm.collector import SlurmCollector
        from prophase.integrations.slurm.commands import SlurmCommands
        from prophase.integrations.slurm.rest import SlurmRest

        commands = SlurmCommands(cluster=self.cluster)
        if self.rest is None:
            if self.token_file is not None or self.user is not None:
                raise ParameterError("--token-file and --token-user go with --rest.")
            return SlurmCollector(commands)
        import getpass

        user = self.user or getpass.getuser()
        return SlurmCollector(commands, SlurmRest(self.rest, user, self._token()))

    def _token(self) -> str:
        import os

        if self.token_file is None:
            held = os.environ.get("SLURM_JWT", "")
        else:
            try:
                held = self.token_file.read_text("utf-8")
            except FileNotFoundError as cause:
                raise MissingFileError(f"{self.token_file}: there is no such file.") from cause
            except OSError as cause:
                raise storage_error(cause, self.token_file) from cause
        # scontrol token prints SLURM_JWT=...
        token = held.strip().removeprefix("SLURM_JWT=")
        if not token:
            raise ParameterError(
                "--rest needs a JWT: scontrol token username=USER > token; then --token-file token"
            )
        return token


def command(
    server: SlurmServer,
    workspace: WorkspaceOption = Path(),
    since: Annotated[
        str,
        typer.Option(
            "--go-back", help=f"How far to go back the first time, {units.DURATION_HELP}."
        ),
    ] = "30d",
    overlap: Annotated[
        str,
        typer.Option(help="How far every later round goes back: records may come late."),
    ] = "1h",
    learn: Annotated[
        bool, typer.Option("--learn", help="Train the models again when new jobs have come.")
    ] = False,
    cure: Annotated[
        bool, typer.Option("--cure", help="Requeue jobs that were killed for memory, with more.")
    ] = False,
    repeat: Annotated[
        str | None, typer.Option(help="Go on until stopped, one round each so long, such as 10m.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Take the jobs of a Slurm site that ended since the last time into a workspace.

    Steps, array tasks, parts of heterogeneous jobs and earlier attempts of requeued jobs are taken,
    each once, however often this is run or broken off; with them come nodes, partitions and shares.
    Run it where `sacct` works, or name a slurmrestd. What is there to see is what the user who
    runs it may see.

    Examples:

    `prophase collect slurm --workspace ws`

    `prophase collect slurm --workspace ws --repeat 10m --learn`

    `prophase collect slurm --workspace ws --rest http://slurm:6820 --token-file token`
    """
    spans = {
        name: units.parse_duration(text, bare="s", where=name, positive=name != "--overlap")
        for name, text in (("--go-back", since), ("--overlap", overlap))
    }
    pause_s = None
    if repeat is not None:
        pause_s = units.parse_duration(repeat, bare="s", where="--repeat", positive=True)
    collector = server.collector()

    def one_round() -> Collection:
        from prophase.trace.collect.collection import collect
        from prophase.trace.workspace import Workspace

        with progress_bar() as show:
            found = collect(
                collector,
                Workspace.prepare(workspace),
                first_span_s=spans["--go-back"],
                overlap_s=spans["--overlap"],
                command=typed_command(),
                progress=show,
            )
        if learn and found.new:
            _learn(workspace)
        if cure:
            from prophase.cli.cure.slurm import cured

            for one in cured(workspace):
                say(f"job {one.job} of {one.user}: {one.words}")
        return found

    if pause_s is not None:
        _go_on(one_round, pause_s)
        return
    _show(one_round(), workspace, format)


def _learn(workspace: Path) -> None:
    from prophase.study.workspace_models import learn_models

    with progress_bar() as show:
        try:
            found = learn_models(workspace, show=show)
        except ProphaseError as error:
            # too few jobs yet, or none with a measured end: what was collected is safe
            say(f"Nothing was learnt: {error}")
            return
    say(f"Learnt from {found.model.jobs:,} jobs.")


def _go_on(one_round: object, pause_s: float) -> None:
    """Collect until told to stop; a round that fails is reported and tried again."""
    from prophase.trace.collect.collection import words

    assert callable(one_round)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    while not stop.is_set():
        try:
            typer.echo(words(one_round()))
        except ProphaseError as error:
            say(f"prophase: {error}")
        stop.wait(pause_s)


def _show(found: Collection, workspace: Path, format: Format) -> None:
    from prophase.trace.collect.collection import words

    rows = [
        {"jobs": "new", "rows": found.new},
        {"jobs": "with a later word", "rows": found.changed},
        {"jobs": "known", "rows": found.known},
        {"jobs": "not ended yet", "rows": found.unfinished},
        {"jobs": "in the workspace", "rows": found.jobs},
    ]
    notes = [words(found), *found.notes]
    if found.new and not found.with_memory:
        notes.append(
            "None of the jobs says how much memory it used, so memory cannot be recommended."
        )
    notes.append(f"Next: prophase learn {as_typed(workspace)}")
    show_result(Result.of_rows("collect", rows, values=found.to_dict(), notes=notes), format)
