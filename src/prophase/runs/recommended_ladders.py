"""Recommended requests of each task at its first, second and third attempt, read from a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.errors import FormatError, MissingFileError, ParameterError, storage_error
from prophase.plural import as_typed

if TYPE_CHECKING:
    from prophase.sizing.kind_recommendation import Recommendation

#: columns of a recommendation, first to last attempt
_TRIES = ("advice", "2nd", "3rd")

Ladders = dict[str, tuple[float, ...]]


def read_recommended_ladders(path: Path | str) -> Ladders:
    """Return the requests of every task that should change its request, in GiB.

    Parameters
    ----------
    path : path
        What ``prophase size WS --format json`` has written, or a workspace (or its
        ``models/requests.model``) that ``prophase learn`` has filled.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "requests.json"
    >>> row = {"task": "train", "advice": 3.0, "2nd": 4.5, "3rd": 4.5, "why": "saves 40 %"}
    >>> _ = file.write_text(json.dumps({"resource": "memory", "tasks": [row]}))
    >>> read_recommended_ladders(file)
    {'train': (3.0, 4.5)}
    """
    path = Path(path)
    if _is_model(path):
        return {one.task: tuple(sorted(set(one.ladder))) for one in _of_model(path)}
    rows = _rows(path)
    return dict(filter(None, (_ladder(path, number, row) for number, row in enumerate(rows, 1))))


def read_recommended_codes(path: Path | str) -> dict[str, float]:
    """Return of which version of its code each task's runs were, as ``code_number`` writes it.

    Tasks whose runs name no version are not in it.
    """
    from prophase.sizing.sizer import number_of_code

    path = Path(path)
    if _is_model(path):
        return {one.task: one.code for one in _of_model(path) if one.code == one.code}
    rows = [row for row in _rows(path) if isinstance(row, dict) and row.get("code")]
    return {str(row.get("task")): number_of_code(str(row["code"])) for row in rows}


def _is_model(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".model"


def _rows(path: Path) -> list[object]:
    """Return the entries of a file of recommendations."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as cause:
        raise MissingFileError(
            f"{path}: there is no such file. Write it with: prophase size WS --format json > {path}"
        ) from cause
    except json.JSONDecodeError as cause:
        place = f"{path} line {cause.lineno} column {cause.colno}"
        raise FormatError(f"{place}: is not JSON. {_HOW.format(path)}") from cause
    except UnicodeDecodeError as cause:
        raise FormatError(f"{path}: is not a text file. {_HOW.format(path)}") from cause
    except OSError as cause:
        raise storage_error(cause, path) from cause
    rows = document.get("tasks") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise FormatError(f"{path}: has no list under 'tasks'. {_HOW.format(path)}")
    resource = document.get("resource", "memory") if isinstance(document, dict) else "memory"
    if resource != "memory":
        raise FormatError(
            f"{path}: recommends {resource}, but after an OOM kill memory is what is raised. "
            f"{_HOW.format(path)}"
        )
    return rows


def of_pipeline(ladders: Mapping[str, Sequence[float]], tasks: Sequence[str], name: str) -> Ladders:
    """Return the ladders of a pipeline's tasks; refuse recommendations for none of them."""
    found = {task: tuple(ladders[task]) for task in tasks if task in ladders}
    if ladders and not found:
        known = ", ".join(list(ladders)[:5])
        raise ParameterError(
            f"{name}: has no recommendation for a task of this pipeline, only for {known}. "
            "Export the campaign, size its workspace, and pass its recommendations."
        )
    return found


def of_task(ladders: Mapping[str, Sequence[float]], task: str | None, name: str) -> list[float]:
    """Return the requests of one task."""
    if task is None and len(ladders) == 1:
        return list(next(iter(ladders.values())))
    if task is None:
        raise ParameterError(
            f"{name}: has recommendations for {len(ladders)} tasks; say which with --task NAME."
        )
    if task not in ladders:
        raise ParameterError.among(f"{name}: has no recommendation for {task!r}.", task, ladders)
    return list(ladders[task])


_HOW = "Write it with: prophase size WS --format json > {}"


def _ladder(path: Path, number: int, row: object) -> tuple[str, tuple[float, ...]] | None:
    """Return a task with its rungs; None if its request is to stay as it is."""
    if not isinstance(row, dict) or not row.get("task") or "advice" not in row:
        raise FormatError(
            f"{path}: entry {number} under 'tasks' has no 'task' and 'advice'. {_HOW.format(path)}"
        )
    if str(row.get("why", "")).startswith("keep"):
        return None
    rungs: list[float] = []
    for name in _TRIES:
        value = row.get(name)
        if value is None:
            continue
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not 0 < value < math.inf:
            raise FormatError(f"{path}: task {row['task']}: {name} is {value!r}, not GiB above 0.")
        if not rungs or value > rungs[-1]:
            rungs.append(float(value))
    return (str(row["task"]), tuple(rungs)) if rungs else None


def _of_model(path: Path) -> list[Recommendation]:
    from prophase.sizing.recommender import Recommender
    from prophase.trace.workspace_paths import REQUESTS

    file = path / REQUESTS if path.is_dir() else path
    if not file.exists():
        raise MissingFileError(
            f"{path}: holds no recommendations. Make them with: prophase learn "
            f"{as_typed(path)}; or " + _HOW.format("requests.json")
        )
    memory = Recommender.load(file).recommendations("memory")
    return [one for one in memory.tasks if not one.keep] if memory is not None else []
