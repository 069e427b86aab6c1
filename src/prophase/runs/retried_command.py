"""Run any command with a memory limit that is lifted after an OOM."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prophase.errors import ParameterError
from prophase.runs.attempt_rows import attempt_row, new_run_id
from prophase.runs.next_attempt import Ladder, limit_follows
from prophase.runs.usage.measurement_order import Ending, MeasurementOrder, run_order
from prophase.runs.usage.sampler import DurableLines


@dataclass(frozen=True)
class Try:
    """One attempt: what it was given and how it ended."""

    attempt: int
    memory_gib: float
    ending: Ending
    #: what the next attempt gets; None if this was the last
    next_gib: float | None


def retry(
    command: Sequence[str],
    *,
    memory_gib: float,
    lift: Ladder,
    attempts: int = 4,
    every_s: float = 5.0,
    timeout_s: float | None = None,
    log: Path | None = None,
    task: str | None = None,
    report: Callable[[Try], None] = lambda one: None,
) -> list[Try]:
    """Run a command until it is done or no cure is left that we have; return every attempt.

    After an OOM the next attempt gets more memory, after a kill by a node that is short of memory
    the same. A limit of the program's own is lifted with the memory if the command derives it
    from PROPHASE_MEMORY_GIB. Every other end is the last.

    Parameters
    ----------
    memory_gib : float
        Limit of the first attempt.
    lift : function
        From a limit that was too small to the next one, or None; see :func:`ladder`.
    timeout_s : float, optional
        Time limit of each attempt.
    log : path, optional
        File of JSON lines that gets a line per attempt, to be read with ``prophase import``.
    task : str, optional
        What the command is called in that file.
    """
    if attempts < 1:
        raise ParameterError(f"attempts is {attempts}, but at least one is needed.")
    lines = DurableLines(log) if log is not None else None
    run_id = new_run_id(command, time.time())
    tries: list[Try] = []
    request: float | None = memory_gib
    while request is not None:
        ending = _once(command, request, every_s, timeout_s)
        again = len(tries) + 1 < attempts
        more = _next_request(command, ending, request, lift) if again else None
        tries.append(Try(len(tries) + 1, request, ending, more))
        if lines is not None:
            lines.add(attempt_row(command, ending, run_id=run_id, attempt=len(tries), task=task))
        report(tries[-1])
        request = more
    if lines is not None:
        lines.close()
    return tries


def _next_request(
    command: Sequence[str], ending: Ending, request: float, lift: Ladder
) -> float | None:
    if ending.oom or (ending.cause == "own_limit" and limit_follows(command)):
        return lift(request)
    return request if ending.cause == "node_pressure" else None


def _once(
    command: Sequence[str], memory_gib: float, every_s: float, timeout_s: float | None
) -> Ending:
    with tempfile.TemporaryDirectory(prefix="prophase-retry-") as name:
        folder = Path(name)
        order = MeasurementOrder(
            list(command),
            str(folder / "samples.jsonl"),
            str(folder / "result.json"),
            every_s=every_s,
            memory_gib=memory_gib,
            env={"PROPHASE_MEMORY_GIB": f"{memory_gib:.6g}"},
            timeout_s=timeout_s,
        )
        code = run_order(order, folder)
        result = folder / "result.json"
        if not result.exists():
            raise ParameterError(f"The process beside the command was killed (exit {code}).")
        return Ending(**json.loads(result.read_text(encoding="utf-8")))
