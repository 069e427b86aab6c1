"""prophase retry: run a command again with more memory when it runs out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.log import measured_peak
from prophase.cli.output import say
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import MemoryOption
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.runs.retried_command import Try


def command(
    words: Annotated[list[str], typer.Argument(metavar="-- CMD ...", help="Command to run.")],
    memory: MemoryOption = "1GiB",
    most: Annotated[
        str | None, typer.Option(help="Memory that no attempt exceeds; by default the machine's.")
    ] = None,
    bins: Annotated[
        str | None, typer.Option(help="Sizes to go through, such as 2G,8G,32G.")
    ] = None,
    advised: Annotated[
        str | None,
        typer.Option("--request", help="Requests of the 1st, 2nd, 3rd attempt, joined by commas."),
        Formerly("--advised"),
    ] = None,
    advice: Annotated[
        Path | None,
        typer.Option(
            "--recommendation",
            help="Take them from what `prophase size ws --format json` has written.",
        ),
        Formerly("--advice"),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="What this is called in the history and the recommendation.")
    ] = None,
    attempt_time_limit: Annotated[
        str | None, typer.Option(help=f"Time limit of an attempt, {units.DURATION_HELP}.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at most.")] = 4,
    log: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Add a line per attempt to this file (.jsonl), for prophase import."
        ),
        Formerly("--log"),
    ] = None,
) -> None:
    """Run a command under a memory limit; after an OOM run it again with more.

    The next limit is the next recommended one, else the next bin, else twice the last. The command
    finds its limit in PROPHASE_MEMORY_GIB. Memory of a GPU, a limit that the program has of its
    own and a time limit are recognised: more memory does not cure them. The exit code is that of
    the last attempt.

    Examples:

    `prophase retry --memory 2GiB --most 16GiB -- python train.py`

    `prophase retry --recommendation recommendation.json --task convert -- ./convert big.csv`
    """
    from prophase.runs.next_attempt import ladder
    from prophase.runs.recommended_ladders import of_task, read_recommended_ladders
    from prophase.runs.retried_command import retry

    rungs = [_gib(part, "--request") for part in advised.split(",")] if advised else []
    if advice is not None and advised:
        raise ParameterError("Pass --request or --recommendation, not both.")
    if advice is not None:
        rungs = of_task(read_recommended_ladders(advice), task, str(advice))
    most_gib = _gib(most, "--most") if most else _machine_gib()
    lift = ladder(
        recommended=rungs,
        bins=[_gib(part, "--bins") for part in bins.split(",")] if bins else [],
        most=most_gib,
    )
    first = min(rungs[0], most_gib) if rungs else _gib(memory, "--memory")
    tries = retry(
        words,
        memory_gib=first,
        lift=lift,
        attempts=attempts,
        timeout_s=None if attempt_time_limit is None else _seconds(attempt_time_limit),
        log=log,
        task=task,
        report=_tell,
    )
    raise typer.Exit(tries[-1].ending.exit_code)


#: an end in words
_ENDS = {
    "host_memory": "out of memory",
    "gpu_memory": "out of GPU memory",
    "own_limit": "at a memory limit of its own",
    "node_pressure": "killed by a node short of memory",
    "time_limit": "out of time",
    "killed": "killed",
}


def _tell(one: Try) -> None:
    from prophase.runs.end_cause import CURES

    said = f"prophase: attempt {one.attempt} at {units.memory(one.memory_gib)}: "
    ending = one.ending
    if ending.exit_code == 0:
        say(f"{said}done, {measured_peak(ending)}.")
        return
    said += f"{_ENDS.get(ending.cause, 'failed')} ({ending.because}); "
    if one.next_gib is not None:
        say(f"{said}next {units.memory(one.next_gib)}.")
    elif ending.oom:
        say(f"{said}no more attempts or memory are allowed.")
    elif ending.cause in CURES:
        say(f"{said}not run again. {CURES[ending.cause]}")
    else:
        say(f"{said}this is no OOM, so it is not run again.")


def _gib(text: str, option: str) -> float:
    return units.parse_memory(text, g_is="binary", bare="GiB", where=option, positive=True)


def _seconds(text: str) -> float:
    return units.parse_duration(text, bare="s", where="--attempt-time-limit", positive=True)


def _machine_gib() -> float:
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
