"""A pipeline: tasks with commands, memory and an order, read from a YAML file."""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.runs._yaml_file import YamlFile

_PIPELINE_KEYS = ("name", "executor", "code", "scenario", "parallel_tasks", "sample_every",
                  "node_memory", "bins", "advice", "attributes", "logs", "tasks")  # fmt: skip
_TASK_KEYS = ("command", "after", "memory", "cpu_cores", "attempts", "timeout", "advised", "image")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: placeholders of commands besides the keys of the scenario
_GIVEN = ("date", "scenario", "code", "memory_gib", "run_id", "task", "python")
#: those of a run, for commands that are no task
_GIVEN_OF_RUN = ("date", "scenario", "code", "run_id", "python")


@dataclass(frozen=True)
class Task:
    """One step of a pipeline."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...]
    memory_gib: float
    cpu_cores: float
    attempts: int
    timeout_s: float | None
    #: requests of the 1st, 2nd, ... try that a sizer has recommended
    advised_gib: tuple[float, ...]
    image: str | None

    def filled_in(self, values: Mapping[str, object]) -> list[str]:
        """Return the command with its placeholders replaced."""
        return [part.format_map(values) for part in self.command]


@dataclass(frozen=True)
class Pipeline:
    """Tasks, the order between them, and what they share."""

    name: str
    executor: str
    tasks: dict[str, Task]
    #: keys a scenario may and must have
    scenario_keys: tuple[str, ...]
    code: Any
    parallel_tasks: int
    sample_every_s: float
    node_memory_gib: float | None
    bins_gib: tuple[float, ...]
    #: file or workspace with recommendations, as the pipeline file names it
    recommendations: str | None
    #: commands that print further attributes of a run while it is profiled
    attribute_commands: tuple[tuple[str, ...], ...]
    #: shared storage that logs are uploaded to
    logs_url: str | None
    text: str


def read_pipeline(path: Path | str) -> Pipeline:
    """Read and check a pipeline file; a mistake is named with its line and column."""
    return pipeline_of(YamlFile.read(path))


def pipeline_of(file: YamlFile) -> Pipeline:
    """Return the pipeline that a YAML file describes."""
    top = _mapping(file, file.value)
    check_keys(file, top, _PIPELINE_KEYS, "a pipeline")
    name = str(top.get("name", "pipeline"))
    if not _NAME.fullmatch(name):
        raise file.wrong(f"name is {name!r}; use letters, digits, '.', '_' and '-'.", "name")
    keys = tuple(map(str, top.get("scenario") or ()))
    for key in keys:
        if not key.isidentifier() or key in _GIVEN:
            raise file.wrong(f"{key!r} cannot be the name of a scenario's attribute.", "scenario")
    described = _mapping(file, top.get("tasks"), "tasks")
    tasks = {task: _task(file, task, described[task], keys) for task in described}
    if not tasks:
        raise file.wrong("a pipeline has at least one task under 'tasks'.", "tasks")
    _check_order(file, tasks)
    node = top.get("node_memory")
    return Pipeline(
        name=name,
        executor=str(top.get("executor", "local")),
        tasks=tasks,
        scenario_keys=keys,
        code=top.get("code"),
        parallel_tasks=_whole(file, top.get("parallel_tasks", 4), "parallel_tasks"),
        sample_every_s=_located(file, _duration, top.get("sample_every", 5), "sample_every"),
        node_memory_gib=None if node is None else _located(file, _memory, node, "node_memory"),
        bins_gib=_amounts(file, top.get("bins"), "bins"),
        recommendations=None if top.get("advice") is None else str(top["advice"]),
        attribute_commands=_attribute_commands(file, top.get("attributes"), keys),
        logs_url=None if top.get("logs") is None else str(top["logs"]),
        text=file.text,
    )


def _attribute_commands(
    file: YamlFile, given: Any, keys: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return one or several commands, each a text or a list of words."""
    several = given if isinstance(given, list) else [] if given is None else [given]
    commands = []
    for one in several:
        parts = shlex.split(one) if isinstance(one, str) else list(map(str, one or ()))
        if not parts:
            raise file.wrong("attributes: a command has no words.", "attributes")
        _check_placeholders(file, parts, [*keys, *_GIVEN_OF_RUN], "attributes")
        commands.append(tuple(parts))
    return tuple(commands)


def _task(file: YamlFile, name: str, given: Any, keys: Sequence[str]) -> Task:
    if not _NAME.fullmatch(name):
        said = f"task {name!r}: use letters, digits, '.', '_' and '-'."
        raise file.wrong(said, "tasks", name)
    values = _mapping(file, given, "tasks", name)
    check_keys(file, values, _TASK_KEYS, "a task", "tasks", name)
    command = values.get("command")
    parts = shlex.split(command) if isinstance(command, str) else list(map(str, command or ()))
    if not parts:
        raise file.wrong(f"task {name!r} has no command.", "tasks", name)
    _check_placeholders(file, parts, [*keys, *_GIVEN], "tasks", name, "command")
    after = values.get("after") or ()
    timeout = values.get("timeout")
    at = ("tasks", name)
    return Task(
        name=name,
        command=tuple(parts),
        after=tuple([after] if isinstance(after, str) else map(str, after)),
        memory_gib=_located(file, _memory, values.get("memory", 1), *at, "memory"),
        cpu_cores=_located(file, _cores, values.get("cpu_cores", 1), *at, "cpu_cores"),
        attempts=_whole(file, values.get("attempts", 4), *at, "attempts"),
        timeout_s=None if timeout is None else _located(file, _duration, timeout, *at, "timeout"),
        advised_gib=_amounts(file, values.get("advised"), *at, "advised"),
        image=values.get("image"),
    )


def _check_order(file: YamlFile, tasks: Mapping[str, Task]) -> None:
    for task in tasks.values():
        for before in task.after:
            if before not in tasks:
                said = f"task {task.name!r} comes after {before!r}, which is no task."
                raise file.wrong(not_among(said, before, tasks), "tasks", task.name, "after")
    try:
        TopologicalSorter({task.name: task.after for task in tasks.values()}).prepare()
    except CycleError as cause:
        circle = " -> ".join(reversed(cause.args[1]))
        raise file.wrong(
            f"the tasks wait for each other in a circle: {circle}. Remove one 'after'.",
            "tasks",
            cause.args[1][0],
        ) from cause


def _check_placeholders(
    file: YamlFile, parts: Sequence[str], known: Sequence[str], *place: str
) -> None:
    for part in parts:
        try:
            named = [name for _, name, _, _ in string.Formatter().parse(part) if name is not None]
        except ValueError as cause:
            said = f"{part!r}: {cause}. Write {{{{ and }}}} for braces."
            raise file.wrong(said, *place) from cause
        for name in named:
            if name not in known:
                said = f"the command has the placeholder {{{name}}}, which nothing fills in."
                raise file.wrong(not_among(said, name, known), *place)


def check_keys(
    file: YamlFile, given: JsonObject, known: Sequence[str], what: str, *path: str
) -> None:
    """Refuse a key that is not one of those known, at its place."""
    for key in given:
        if key not in known:
            said = f"{what} has no key {key!r}."
            raise file.wrong(not_among(said, str(key), known), *path, key)


def _mapping(file: YamlFile, value: Any, *path: str) -> JsonObject:
    if not isinstance(value, dict):
        what = path[-1] if path else "the file"
        raise file.wrong(f"{what} must hold 'key: value' lines.", *path)
    return {str(key): item for key, item in value.items()}


def _amounts(file: YamlFile, values: Any, *path: str) -> tuple[float, ...]:
    return tuple(_located(file, _memory, value, *path) for value in values or ())


def _whole(file: YamlFile, value: Any, *path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise file.wrong(f"{path[-1]} is {value!r}, but must be a whole number from 1 on.", *path)
    return value


def _cores(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise ParameterError(f"{value!r} is no number of cores.")
    return number


def _memory(value: Any) -> float:
    return units.parse_memory(value, g_is="binary", bare="GiB", positive=True)


def _duration(value: Any) -> float:
    return units.parse_duration(value, bare="s", positive=True)


def _located(file: YamlFile, read: Any, value: Any, *path: str) -> float:
    try:
        return float(read(value))
    except ParameterError as cause:
        raise file.wrong(f"{path[-1]}: {cause}", *path) from cause
