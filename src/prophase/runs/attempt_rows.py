"""Attempts at a command as rows of the job table, in a file that ``prophase import`` reads."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from prophase.json_types import JsonObject
from prophase.runs.end_cause import CUT_SHORT, status_of
from prophase.runs.usage.measurement_order import Ending


def attempt_row(
    command: Sequence[str],
    ending: Ending,
    *,
    run_id: str,
    attempt: int = 1,
    task: str | None = None,
) -> JsonObject:
    """Return one attempt as a row of the job table.

    After an OOM the peak is the memory that the attempt was given: the command needs at least
    this much (``after_at_least_gib``); what it had reached is ``after_reached_gib``.

    Parameters
    ----------
    run_id : str
        Name that the attempts at one command share.
    attempt : int
        1 for the first.
    task : str, optional
        What the command is called in the history; by default its program or script.
    """
    name = task or command_name(command)
    row: JsonObject = {
        "job_id": f"{run_id}/{attempt}",
        "parent_id": run_id,
        "name": name,
        "user": _user(),
        "task": name,
        "submit_s": round(ending.started_at_s, 3),
        "start_s": round(ending.started_at_s, 3),
        "end_s": round(ending.started_at_s + ending.duration_s, 3),
        "duration_s": ending.duration_s,
        "status": status_of(ending.cause),
        "request_memory_gib": ending.limit_gib,
        "memory_peak_gib": ending.memory_peak_gib,
        "cpu_mean_cores": ending.cpu_mean_cores,
        "cpu_peak_cores": ending.cpu_peak_cores,
        "read_bytes": ending.read_bytes,
        "write_bytes": ending.write_bytes,
        "attr_attempt": attempt,
        "attr_command": shlex.join(command),
        "attr_directory": str(Path.cwd()),
        "after_exit_code": ending.exit_code,
        "after_end_cause": ending.cause,
        "after_because": ending.because,
        "after_memory_peak_error_gib": ending.memory_peak_error_gib,
        "after_memory_method": ending.memory_method,
        "after_reached_gib": ending.memory_peak_gib,
        "after_at_least_gib": None,
    }
    if ending.oom and ending.limit_gib is not None:
        row["memory_peak_gib"] = row["after_at_least_gib"] = ending.limit_gib
    elif ending.cause in CUT_SHORT or ending.oom:
        row["after_at_least_gib"] = ending.memory_peak_gib
    return row


def command_name(command: Sequence[str]) -> str:
    """Return what a command is called: its program, or the script that an interpreter runs.

    Examples
    --------
    >>> command_name(["/usr/bin/python3", "-u", "src/train.py", "--lr", "0.1"])
    'train.py'
    >>> command_name(["sh", "-c", "make all"]), command_name(["java", "-jar", "app.jar"])
    ('sh', 'app.jar')
    """
    program = Path(command[0]).name
    scripts = (".py", ".sh", ".R", ".r", ".jl", ".pl", ".rb", ".js", ".jar", ".nf")
    return next((Path(word).name for word in command[1:] if word.endswith(scripts)), program)


def new_run_id(command: Sequence[str], started_s: float) -> str:
    """Return a name for all attempts at a command that begins now."""
    return f"{command_name(command)}-{started_s:.3f}-{os.getpid()}"


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
