"""Run any command with a memory limit that is lifted after an OOM."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prophase.errors import ParameterError
from prophase.runs.next_attempt import Ladder
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

    def as_row(self) -> dict[str, object]:
        """Return what is learned from it: the peak, or after an OOM "at least this much"."""
        oom = self.ending.oom
        return {
            "time_s": round(time.time(), 3),
            "attempt": self.attempt,
            "request_memory_gib": self.memory_gib,
            "status": "oom" if oom else "completed" if self.ending.exit_code == 0 else "failed",
            "exit_code": self.ending.exit_code,
            "because": self.ending.because,
            "memory_peak_gib": self.ending.memory_peak_gib,
            "at_least_gib": self.memory_gib if oom else None,
            "duration_s": self.ending.duration_s,
        }


def retry(
    command: Sequence[str],
    *,
    memory_gib: float,
    lift: Ladder,
    attempts: int = 4,
    every_s: float = 5.0,
    log: Path | None = None,
    report: Callable[[Try], None] = lambda one: None,
) -> list[Try]:
    """Run a command until it ends otherwise than by an OOM; return every attempt.

    Parameters
    ----------
    memory_gib : float
        Limit of the first attempt.
    lift : function
        From a limit that was too small to the next one, or None; see :func:`ladder`.
    log : path, optional
        File of JSON lines that gets a line per attempt.
    """
    if attempts < 1:
        raise ParameterError(f"attempts is {attempts}, but at least one is needed.")
    lines = DurableLines(log) if log is not None else None
    tries: list[Try] = []
    request: float | None = memory_gib
    while request is not None:
        ending = _once(command, request, every_s)
        again = ending.oom and len(tries) + 1 < attempts
        tries.append(Try(len(tries) + 1, request, ending, lift(request) if again else None))
        if lines is not None:
            lines.add({"command": list(command), **tries[-1].as_row()})
        report(tries[-1])
        request = tries[-1].next_gib
    if lines is not None:
        lines.close()
    return tries


def _once(command: Sequence[str], memory_gib: float, every_s: float) -> Ending:
    with tempfile.TemporaryDirectory(prefix="prophase-retry-") as name:
        folder = Path(name)
        order = MeasurementOrder(
            list(command),
            str(folder / "samples.jsonl"),
            str(folder / "result.json"),
            every_s=every_s,
            memory_gib=memory_gib,
            env={"PROPHASE_MEMORY_GIB": f"{memory_gib:.6g}"},
            name="retry",
        )
        code = run_order(order, folder)
        result = folder / "result.json"
        if not result.exists():
            raise ParameterError(f"The process beside the command was killed (exit {code}).")
        return Ending(**json.loads(result.read_text(encoding="utf-8")))
