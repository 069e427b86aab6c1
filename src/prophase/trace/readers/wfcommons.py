"""WfCommons: tasks of real workflow runs, from WfFormat JSON files or a flattened table.

Source: Coleman et al., "WfCommons: A framework for enabling scientific workflow
research and development", FGCS 2022. One JSON file is one run. Up to schema 1.4 a
task holds everything; from 1.5 on it is split into a specification (who feeds whom)
and an execution (what it took). Sizes of inputs are declared before the run, so they
are attributes; an input whose sizes add up to zero was a URL and has no known size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import ibis

from prophase import units
from prophase.errors import FormatError, MissingFileError, ParameterError
from prophase.json_types import JsonObject
from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

COLUMNS = (
    "system", "workflow", "instance", "task_id", "task_name", "runtime_s", "memory_bytes",
    "cores", "avg_cpu_pct", "read_bytes", "write_bytes", "input_files", "input_bytes",
    "output_bytes", "machine", "parents", "started_at", "priority",
)  # fmt: skip
_GIB = 2.0**30
_NO_MEMORY = f"{REPAIRED}memory of 0 bytes, not measured"
_NO_SIZE = f"{REPAIRED}inputs of 0 bytes, size not known"


def _read(dump: Dump) -> Tables:
    tables = having(dump.find("*.csv", required=False), *COLUMNS[2:7], "parents")
    runs = dump.find("*.json", required=False)
    if dump.root.is_file() and tables:
        runs = []
    sheets = [dump.sheet(file) for file in tables]
    if runs:
        rows = (row for file in runs for row in _rows_of_run(file))
        sheets.append(dump.sheet_of_rows(runs[0], COLUMNS, rows))
    if not sheets:
        raise MissingFileError(
            f"{dump.root}: holds no WfFormat file (*.json) and no flattened table with the columns "
            "instance, task_id, runtime_s, parents. Point to the folder of the runs."
        )
    return {"jobs": stack([_jobs(sheet) for sheet in sheets])}


def _jobs(sheet: Sheet) -> ibis.Table:
    memory, inputs = sheet.number("memory_bytes"), sheet.number("input_bytes")
    sizeless = (inputs == 0) & (sheet.number("input_files") > 0)
    return sheet.select(
        job_id=sheet.text("instance") + "/" + sheet.text("task_id"),
        parent_id=sheet.text("instance"),
        name=sheet.text("task_name"),
        workload=sheet.text("workflow"),
        # blastall_ID000002 is the second task of type blastall
        task=sheet.text("task_name").re_replace("_(ID[0-9]+|[0-9]{5,})$", ""),
        duration_s=sheet.number("runtime_s"),
        instances=ibis.literal(1.0),
        request_cpu_cores=sheet.number("cores"),
        cpu_mean_cores=sheet.number("avg_cpu_pct", factor=0.01),
        memory_peak_gib=memory.nullif(0.0) / _GIB,
        read_bytes=sheet.number("read_bytes"),
        write_bytes=sheet.number("write_bytes"),
        attr_system=sheet.text("system"),
        attr_input_files=sheet.number("input_files"),
        attr_input_bytes=sizeless.ifelse(ibis.null("float64"), inputs),
        attr_parents=sheet.text("parents"),
        after_output_bytes=sheet.number("output_bytes"),
        after_node=sheet.text("machine"),
        start_s=sheet.number("started_at", optional=True),
        priority=sheet.number("priority", optional=True),
        **{_NO_MEMORY: (memory == 0).fill_null(False), _NO_SIZE: sizeless.fill_null(False)},
    )


def _rows_of_run(file: SourceFile) -> Iterator[tuple[object, ...]]:
    """Yield one row per task of a WfFormat file."""
    try:
        run = json.loads(file.path.read_text(encoding="utf-8"))
        workflow = run["workflow"]
        system = (run.get("runtimeSystem") or run.get("wms") or {}).get("name", "")
        if "specification" in workflow:
            tasks = _tasks_in_two_parts(workflow)
        else:
            tasks = _tasks_in_one_part(workflow)
        for task in tasks:
            yield (system.lower() or None, workflow_of(file.stem), file.stem, *task)
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise FormatError(
            f"{file.origin}: is not a workflow run in WfFormat ({cause!r}). Schema 1.4 or newer "
            "is read; migrate older files with the tools of WfFormat."
        ) from cause


def workflow_of(instance: str) -> str:
    """Return the workflow a run is named after: the word before the first dash.

    Examples
    --------
    >>> workflow_of("blast-chameleon-large-001")
    'blast'
    """
    return instance.split("-")[0]


def _tasks_in_two_parts(workflow: JsonObject) -> Iterator[tuple[object, ...]]:
    """Join specification and execution by task id (schema 1.5 and later)."""
    specification = workflow["specification"]
    sizes = {file["id"]: file.get("sizeInBytes") for file in specification.get("files", [])}
    measured = {task["id"]: task for task in workflow.get("execution", {}).get("tasks", [])}
    for task in specification["tasks"]:
        inputs = [sizes.get(name) for name in task.get("inputFiles", [])]
        outputs = [sizes.get(name) for name in task.get("outputFiles", [])]
        took = measured.get(task["id"], {})
        yield _row(task, took, inputs, outputs, " ".join(took.get("machines") or []))


def _tasks_in_one_part(workflow: JsonObject) -> Iterator[tuple[object, ...]]:
    """Read tasks that carry their files and measurements themselves (schema 1.4)."""
    for task in workflow["tasks"]:
        linked: dict[str, list[float | None]] = {"input": [], "output": []}
        for file in task.get("files", []):
            linked[file["link"]].append(file.get("sizeInBytes", file.get("size")))
        yield _row(task, task, linked["input"], linked["output"], task.get("machine"))


def _row(
    task: JsonObject,
    took: JsonObject,
    inputs: list[float | None],
    outputs: list[float | None],
    machine: str | None,
) -> tuple[object, ...]:
    """Return the columns from task_id on."""
    return (
        task.get("id", task["name"]),
        task["name"],
        took.get("runtimeInSeconds", took.get("runtime")),
        took.get("memoryInBytes"),
        took.get("coreCount", took.get("cores")),
        took.get("avgCPU"),
        took.get("readBytes"),
        took.get("writtenBytes"),
        len(inputs),
        _sum(inputs),
        _sum(outputs),
        machine,
        " ".join(task.get("parents", [])),
        _epoch(took.get("executedAt")),
        took.get("priority"),
    )


def _sum(sizes: Iterable[float | None]) -> float:
    return sum(size for size in sizes if size is not None)


def _epoch(text: str | None) -> float | None:
    """Return an ISO time as seconds since 1970; a time without a zone is taken as UTC."""
    if not text:
        return None
    try:
        return units.parse_moment(text)
    except ParameterError:
        # some runs were stamped by hand, month first; a task without a clock is still a task
        return None


READER = Reader(
    name="wfcommons",
    title="WfCommons workflow runs: WfFormat JSON (1.4 and later) or a flattened table",
    fills={
        "jobs": (
            "job_id parent_id name workload task start_s end_s duration_s instances "
            "request_cpu_cores priority cpu_mean_cores memory_peak_gib read_bytes write_bytes "
            "attr_system attr_input_files attr_input_bytes attr_parents after_output_bytes "
            "after_node"
        ).split()
    },
    cannot="submit times, memory requests, users, GPUs; most runs have no clock per task",
    read=_read,
    patterns=("*.csv", "*.json"),
    signature=("instance", "task_id", "task_name", "runtime_s", "memory_bytes", "parents"),
    clock="unix",
)
