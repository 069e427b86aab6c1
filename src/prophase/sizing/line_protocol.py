"""Sizing as a conversation: one question or outcome per line, each answered at once.

A line is a JSON object with ``task`` and ``features``. With ``peak_gib`` and ``runtime_h`` it
is an outcome and is learned from; with ``last_gib`` it asks for the request after a kill;
otherwise it asks for the first request. Outcomes are kept in a log, and a conversation that
is taken up again starts from it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from prophase.errors import FormatError, storage_error
from prophase.json_types import JsonObject
from prophase.sizing.sizer import OnlineSizer


class Conversation:
    """Answers lines with a sizer and keeps the outcomes.

    Parameters
    ----------
    sizer : OnlineSizer
        Who answers.
    log : path, optional
        File the outcomes are added to; those in it are learned first.

    Examples
    --------
    >>> from prophase.sizing import make_online_sizer
    >>> talk = Conversation(make_online_sizer("maximum"))
    >>> talk.answer('{"task": "align", "peak_gib": 4, "runtime_h": 0.5}')
    {'task': 'align', 'learnt': 1}
    >>> talk.answer('{"task": "align", "features": {"request_gib": 16}}')
    {'task': 'align', 'request_gib': 4.4, 'attempt': 1}
    """

    def __init__(self, sizer: OnlineSizer, log: Path | None = None) -> None:
        self.sizer, self.log = sizer, log
        self.outcomes = 0
        if log is not None and log.is_file():
            for line in _lines(log):
                self._learn(_read(line, f"{log}"))

    def answer(self, line: str) -> JsonObject:
        """Return the answer to one line; a line that makes no sense is refused, saying why."""
        said = _read(line, "this line")
        task, features = said["task"], said.get("features") or {}
        if "peak_gib" in said:
            self._learn(said)
            self._keep(line)
            return {"task": task, "learnt": self.outcomes}
        if "last_gib" in said:
            attempt = int(said.get("attempt", 2))
            last = _number(said, "last_gib")
            asked = self.sizer.retry(task, features, attempt, last)
            return {"task": task, "request_gib": max(asked, last * 1.01), "attempt": attempt}
        asked = self.sizer.predict(task, features)
        return {"task": task, "request_gib": asked, "attempt": 1}

    def _learn(self, said: JsonObject) -> None:
        peak = _number(said, "peak_gib")
        hours = _number(said, "runtime_h") if "runtime_h" in said else 0.0
        self.sizer.observe(
            said["task"], said.get("features") or {}, peak, hours, bool(said.get("failed", False))
        )
        self.outcomes += 1

    def _keep(self, line: str) -> None:
        if self.log is None:
            return
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a", encoding="utf-8") as out:
                out.write(line.strip() + "\n")
        except OSError as cause:
            raise storage_error(cause, self.log) from cause


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as kept:
        for line in kept:
            # a line without its end was being written when the program was killed
            if line.strip() and line.endswith("\n"):
                yield line


def _read(line: str, where: str) -> JsonObject:
    try:
        said = json.loads(line)
    except ValueError as cause:
        raise FormatError(f"{where}: not a JSON object ({cause}): {line.strip()[:80]!r}") from cause
    if not isinstance(said, dict) or not isinstance(said.get("task"), str):
        raise FormatError(
            f'{where}: needs a task, such as {{"task": "align", "features": {{"request_gib": 16}}}}'
        )
    if not isinstance(said.get("features") or {}, dict):
        raise FormatError(f"{where}: features must be an object of names and values.")
    return said


def _number(said: JsonObject, name: str) -> float:
    try:
        value = float(said[name])
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise FormatError(f"{name} is {said[name]!r}, which is not an amount.")
    return value
