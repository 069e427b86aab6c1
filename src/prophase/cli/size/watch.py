"""prophase size watch: sizes on demand, learning from every outcome."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import say
from prophase.cli.settings import Formerly
from prophase.cli.sizing_options import RiskOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ProphaseError


def command(
    path: Annotated[
        Path | None,
        typer.Argument(help="History to start from: a workspace, or a file of a trace."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option("--outcomes", help="Keep outcomes in this file, and start from it."),
        Formerly("--log"),
    ] = None,
    sizer: Annotated[str, typer.Option(help="Which sizer answers.")] = "default",
    risk: RiskOption = None,
    source: SourceOption = None,
) -> None:
    """Answer questions from stdin, one JSON object per line, and learn from outcomes.

    `{"task": "align", "features": {"request_gib": 16, "input_gib": 2.5}}` asks for a request;
    with `"last_gib": 4` it asks for the one after a kill; with `"peak_gib": 3.1,
    "runtime_h": 0.5` it is an outcome (and `"failed": true` if the task was killed).

    Examples:

    `prophase size watch ws --outcomes outcomes.jsonl < questions.jsonl`
    """
    from prophase.sizing.line_protocol import Conversation
    from prophase.sizing.registry import make_online_sizer
    from prophase.sizing.sizer import Outcome

    made = make_online_sizer(
        sizer, None if risk is None else units.parse_share(risk, where="--risk", below_one=True)
    )
    if path is not None:
        from prophase.cli.provenance import open_trace
        from prophase.sizing.replays.task_runs import task_runs

        runs = task_runs(open_trace(path, source=source, tables=["jobs"]).jobs).runs
        made.learn(
            Outcome(run.task, {**run.features, "post": run.post}, run.peak, run.runtime_h)
            for run in sorted(runs, key=lambda run: run.end_s)
        )
        say(f"Learnt from {len(runs):,} runs of {path}.")
    talk = Conversation(made, log)
    if talk.outcomes:
        say(f"Learnt from {talk.outcomes:,} outcomes of {log}.")
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            answer = talk.answer(line)
        except ProphaseError as error:
            answer = {"error": str(error)}
        typer.echo(json.dumps(answer))
        sys.stdout.flush()
