"""Read a job file, whichever of the known forms it has."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from prophase.errors import FormatError, InputError, MissingFileError, storage_error
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.submission.kubernetes_manifest import from_manifest, is_manifest
from prophase.profile.submission.slurm_script import from_script, is_script
from prophase.profile.submission.submission import ALIASES, Submission, from_fields
from prophase.trace.schema import JOBS

#: for more jobs than this, answers belong into a table
MOST_JOBS = 50
_MOST_BYTES = 4 << 20


def read_submissions(path: Path | str) -> list[Submission]:
    """Return the jobs of a file: YAML, JSON, CSV, a Kubernetes manifest or a Slurm script.

    The form is recognised by the content. ``-`` reads from standard input.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "job.yaml"
    >>> _ = path.write_text("user: ann\\nmemory: 16Gi\\ntime_limit: 2h\\n")
    >>> dict(read_submissions(path)[0].columns)
    {'user': 'ann', 'request_memory_gib': 16.0, 'time_limit_s': 7200.0}
    """
    where = "standard input" if str(path) == "-" else str(path)
    as_csv = Path(path).suffix.lower() in (".csv", ".tsv")
    return submissions_in(_text(path, where), where, as_csv=as_csv)


def submissions_in(text: str, where: str, *, as_csv: bool = False) -> list[Submission]:
    """Return the jobs of the text of a job file; ``where`` names it in errors.

    Examples
    --------
    >>> script = "#!/bin/sh\\n#SBATCH --mem=16G\\nsrun train.py"
    >>> submissions_in(script, "the script")[0].columns["request_memory_gib"]
    16.0
    """
    if not text.strip():
        raise FormatError(f"{where}: is empty. Give a job file: YAML, JSON, CSV, a Kubernetes "
                          "manifest or a Slurm script.")  # fmt: skip
    if is_script(text):
        found = [from_script(text, where)]
    elif as_csv or _looks_like_csv(text):
        found = _from_csv(text, where)
    elif text.startswith("#!"):
        raise FormatError(f"{where}: is a script without #SBATCH lines, so nothing says what it "
                          "asks for. Add them, or write the job as YAML.")  # fmt: skip
    else:
        found = [
            job
            for document in _documents(text, where)
            for job in (
                from_manifest(document, where)
                if is_manifest(document)
                else _from_mappings(document, where)
            )
        ]
    return _checked(found, where)


def _text(path: Path | str, where: str) -> str:
    try:
        if str(path) == "-":
            content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            source = Path(path)
            if source.is_dir():
                raise MissingFileError(
                    f"{where}: this is a folder, not the file of a job. Name a job file; a "
                    "workspace goes behind --workspace."
                )
            if not source.is_file():
                raise MissingFileError(f"{where}: there is no such file.")
            with source.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
    except OSError as cause:
        raise storage_error(cause, where) from cause
    if len(content) > _MOST_BYTES:
        raise FormatError(f"{where}: is larger than {_MOST_BYTES >> 20} MiB, which is no job file. "
                          "For many jobs use: prophase predict")  # fmt: skip
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise FormatError(f"{where}: is not text ({cause.reason}). Give a job file.") from cause


def _looks_like_csv(text: str) -> bool:
    """Say whether the first line is a header of columns that the job table has."""
    names = [name.strip() for name in text.splitlines()[0].split(",")]
    return len(names) > 1 and all(JOBS.get(ALIASES.get(name.lower(), name)) for name in names)


def _from_csv(text: str, where: str) -> list[Submission]:
    sample = text.splitlines()[0]
    separator = max(",;\t", key=sample.count)
    try:
        # ends of lines in all forms: a lone carriage return is one, too
        rows = list(csv.reader(io.StringIO(text, newline=None), delimiter=separator))
    except csv.Error as cause:
        raise FormatError(f"{where}: cannot be read as CSV: {cause}. Correct it there.") from cause
    names = [name.strip() for name in rows[0]]
    if not any(JOBS.get(ALIASES.get(name.lower(), name)) for name in names):
        raise FormatError(
            f"{where}: no column of its first line is one of the job table ({', '.join(names)}). "
            "Rename the columns, or read it as a trace: prophase predict FILE --source NAME"
        )
    found = []
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise FormatError(
                f"{where} line {number}: has {counted(len(row), 'cell')}, but the first line names "
                f"{counted(len(names), 'column')}."
            )
        line = f"{where} line {number}"
        found.append(from_fields(_cells(names, row), form="CSV row", where=line))
    return found


def _cells(names: list[str], row: list[str]) -> JsonObject:
    """Return the row by column; numbers of attributes become numbers, as in a trace."""
    cells: JsonObject = {}
    for name, cell in zip(names, row, strict=True):
        value: Any = cell.strip()
        if value.lower() in ("", "nan", "na", "null", "none"):
            value = None
        elif name.startswith("attr_"):
            with suppress(ValueError):
                value = float(value)
        cells[name] = value
    return cells


def _documents(text: str, where: str) -> list[Any]:
    if text.lstrip().startswith(("{", "[")):
        try:
            return [json.loads(text)]
        except json.JSONDecodeError:
            pass  # YAML has such braces, too; its reader gives the message
    import yaml

    try:
        return [one for one in yaml.safe_load_all(text) if one is not None]
    except yaml.YAMLError as cause:
        said = " ".join(str(cause).split())
        raise FormatError(
            f"{where}: is neither YAML, JSON, CSV nor a Slurm script ({said}). Correct it there."
        ) from cause
    except RecursionError as cause:
        raise FormatError(f"{where}: is nested too deeply for a job file.") from cause
    except (ValueError, AttributeError, LookupError, OverflowError) as cause:
        # 2024-13-45 looks like a date to YAML, and is none
        raise FormatError(
            f"{where}: a date or number in it cannot be one ({cause}). Correct it, or put it in "
            "quotes if it is a name."
        ) from cause


def _from_mappings(document: Any, where: str) -> list[Submission]:
    held = document if isinstance(document, list) else [document]
    found: list[Submission] = []
    for one in held:
        if is_manifest(one):
            found += from_manifest(one, where)
        elif isinstance(one, Mapping):
            found.append(from_fields(one, form="job description", where=where))
        else:
            raise FormatError(
                f"{where}: holds {str(one)[:40]!r}, but a job is described by names and values, "
                "such as 'user: ann'."
            )
    return found


def _checked(found: list[Submission], where: str) -> list[Submission]:
    if not found:
        raise FormatError(f"{where}: describes no job.")
    if len(found) > MOST_JOBS:
        raise InputError(
            f"{where}: describes {counted(len(found), 'job')}. For more than {MOST_JOBS} use: "
            "prophase predict FILE --workspace WORKSPACE"
        )
    for one in found:
        if not set(one.columns) - {"job_id", "parent_id", "source"}:
            notes = " ".join(one.notes)
            raise InputError(f"{where}: says nothing that is known of a job. {notes}".rstrip())
    return found
