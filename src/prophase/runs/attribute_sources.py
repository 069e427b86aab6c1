"""Attributes of a run from other sources than its scenario, added while it is profiled.

A pipeline names commands under ``attributes``; each prints one JSON object. Python callers pass
functions. What they say becomes ``attr_*`` of every task of the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from prophase.errors import ExecutorError
from prophase.json_types import JsonObject
from prophase.runs.executor import Assignment

AttributeSource = Callable[[Assignment], Mapping[str, object]]
#: columns that a run has of its own
_OWN = ("scenario", "execution_date", "version", "attempt")
#: key under which a source says something of single tasks
_PER_TASK = "tasks"
_TIMEOUT_S = 300.0


def gathered_attributes(
    job: Assignment, sources: Sequence[AttributeSource] = ()
) -> tuple[JsonObject, dict[str, JsonObject]]:
    """Return what all sources know of a run, and what they know of single tasks.

    Parameters
    ----------
    sources : sequence of functions, optional
        Asked after the commands of the pipeline. Each gets the run and returns a mapping; under
        ``tasks`` it may hold one mapping per task.
    """
    shared: JsonObject = {}
    per_task: dict[str, JsonObject] = {}
    asked: list[tuple[str, Mapping[str, object]]] = [
        (command[0], _printed(job, command)) for command in job.pipeline.attribute_commands
    ]
    asked += [(getattr(one, "__name__", repr(one)), one(job)) for one in sources]
    for name, found in asked:
        told = dict(found)
        tasks = told.pop(_PER_TASK, {})
        if not isinstance(tasks, Mapping):
            raise ExecutorError(
                f"attributes of {name}: {_PER_TASK!r} must hold one object per task."
            )
        _check(told, name)
        shared |= told
        for task, values in tasks.items():
            if task not in job.pipeline.tasks or not isinstance(values, Mapping):
                raise ExecutorError(f"attributes of {name}: {task!r} is no task with attributes.")
            _check(values, name)
            per_task.setdefault(str(task), {}).update(values)
    return shared, per_task


def _printed(job: Assignment, command: Sequence[str]) -> JsonObject:
    run_id = job.run_id or job.new_run_id
    code = str(job.code or "")
    values = job.placeholders(run_id, code=code, python=sys.executable)
    words = [part.format_map(values) for part in command]
    known = job.environment(values, "scenario", "date", "code", "run_id")
    try:
        done = subprocess.run(
            words,
            cwd=job.code,
            env={**os.environ, **known},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise ExecutorError(f"attributes: {words[0]} could not be run: {cause}") from cause
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it printed no reason"])[-1]
        raise ExecutorError(f"attributes: {words[0]} ended with {done.returncode}: {said}")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ExecutorError(
            f"attributes: {words[0]} must print one JSON object such as "
            f'{{"articles": 812}}, not {done.stdout.strip()[:80]!r}.'
        )
    return found


def _check(told: Mapping[str, object], name: str) -> None:
    for key, value in told.items():
        if not str(key).isidentifier() or key in _OWN:
            raise ExecutorError(f"attributes of {name}: {key!r} cannot be the name of one.")
        if not isinstance(value, str | int | float | bool | None):
            raise ExecutorError(
                f"attributes of {name}: {key} is {value!r}, but must be a text or a number."
            )
