"""Input and results of Alibaba's PAI simulator.

Source: the simulator beside the PAI trace of 2020 (Weng et al., NSDI 2022). The columns
are kept so that its input can be written again exactly: ``job_id`` gives the order of
rows, ``attr_num_inst`` stays missing where num_inst was empty (which counts as 1).
Results of its runs become the side tables ``reference_jct`` and ``reference_results``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import ibis

from prophase.errors import FormatError, MissingFileError
from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_INPUT = ("job_id", "num_gpu", "num_inst", "submit_time", "duration")
_OUTCOME = ("job_id", "submit_time", "duration", "jct")
#: what the user, the group, and the group at that GPU count took before: known at submission
_ESTIMATES = ("user_dur", "group_dur", "group_gpu_dur")


def _read(dump: Dump) -> Tables:
    tables = [file for file in dump.find("*.csv") if not file.name.endswith(".json")]
    inputs = having(tables, *_INPUT)
    if not inputs:
        raise MissingFileError(
            f"{dump.root}: no file has the columns {', '.join(_INPUT)}. "
            "Point to the simulator's input file, or to its folder."
        )
    if len(inputs) > 1:
        raise MissingFileError(
            f"{dump.root}: holds {len(inputs)} inputs ({', '.join(f.name for f in inputs)}), whose "
            "job ids overlap. Point to one of them."
        )
    found: Tables = {"jobs": _jobs(dump.sheet(inputs[0]))}
    outcomes = having(tables, *_OUTCOME)
    if outcomes:
        found["reference_jct"] = stack([_outcome(dump.sheet(file)) for file in outcomes])
    if dump.root.is_dir():
        for file in dump.find("results.json", required=False):
            found["reference_results"] = _results(dump, file)
    return found


def _jobs(sheet: Sheet) -> ibis.Table:
    instances = sheet.number("num_inst")
    words = ("user", "group", "workload", "gpu_type")
    return sheet.select(
        job_id=sheet.text("job_id"),
        **{name: sheet.text(name, optional=True) for name in words},
        submit_s=sheet.number("submit_time"),
        duration_s=sheet.number("duration"),
        instances=instances.fill_null(1.0),
        request_cpu_cores=sheet.number("num_cpu", optional=True),
        request_gpus=sheet.number("num_gpu"),
        attr_num_inst=instances,
        **{f"attr_{name}": sheet.number(name, optional=True) for name in _ESTIMATES},
        **{f"{REPAIRED}num_inst empty, counted as 1": instances.isnull()},
    )


def _outcome(sheet: Sheet) -> ibis.Table:
    """Return completion times of one run, one row per finished instance."""
    return sheet.select(
        run=ibis.literal(sheet.file.stem.removeprefix("jct_")),
        job_id=sheet.text("job_id"),
        submit_s=sheet.number("submit_time"),
        duration_s=sheet.number("duration"),
        jct_s=sheet.number("jct"),
    )


def _results(dump: Dump, file: SourceFile) -> ibis.Table:
    """Return one row per run: its parameters as text, its figures as numbers."""
    rows = list(_result_rows(file))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(key) for key in columns] for row in rows]
    sheet = dump.sheet_of_rows(file, columns, cells)
    numeric = {
        key
        for key in columns
        if all(
            isinstance(row.get(key, 0), int | float) and not isinstance(row.get(key), bool)
            for row in rows
        )
    }
    return sheet.select(
        **{key: sheet.number(key) if key in numeric else sheet.text(key) for key in columns}
    )


def _result_rows(file: SourceFile) -> Iterator[dict[str, object]]:
    try:
        yield from json.loads(file.path.read_text(encoding="utf-8"))["results"]
    except (json.JSONDecodeError, KeyError, TypeError) as cause:
        raise FormatError(
            f"{file.origin}: is not a list of simulator results ({cause!r}). "
            "It needs the key 'results'; correct it or move it out of the folder."
        ) from cause


READER = Reader(
    name="pai-sim",
    title="Input of Alibaba's PAI simulator, with its reference results",
    fills={
        "jobs": (
            "job_id user group workload submit_s duration_s instances request_cpu_cores "
            "request_gpus gpu_type attr_num_inst attr_user_dur attr_group_dur attr_group_gpu_dur"
        ).split(),
        "reference_jct": "run job_id submit_s duration_s jct_s".split(),
        "reference_results": (
            "tag input policy num_gpus num_cpus arrival_rate delta hetero gpu_type_matching "
            "sort_node_policy jobs_done avg_jct avg_wait makespan per_job wall_s cpu_s rss_mb"
        ).split(),
    },
    cannot="memory, status, measured use; starts and waits (they are the simulator's output)",
    read=_read,
    patterns=("*.csv", "results.json"),
    signature=("job_id", "num_gpu", "num_inst", "submit_time", "duration", "gpu_type"),
)
