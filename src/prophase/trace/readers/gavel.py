"""Gavel: measured training speed of jobs alone and sharing a GPU, per GPU type.

Source: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep
Learning Workloads", OSDI 2020. The published JSON, or the same flattened to CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import ibis

from prophase.errors import FormatError
from prophase.trace.dump import Dump
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import Sheet

_COLUMNS = ("worker", "job", "colocated_with", "steps_per_s", "other_steps_per_s")
_SPREAD = "_unconsolidated"
#: ('ResNet-18 (batch size 16)', 1), or without batch size: ('CycleGAN', 1)
_JOB = r"^\('(.+?)(?: \(batch size (\d+)\))?', (\d+)\)$"


def _read(dump: Dump) -> Tables:
    file = dump.find("*throughputs*")[0]
    if first_lines(file.path, 1)[0].lstrip().startswith("{"):
        return {"throughput": _speeds(dump.sheet_of_rows(file, _COLUMNS, _flat(file)))}
    sheet = dump.sheet(file)
    sheet.need(*_COLUMNS)
    return {"throughput": _speeds(sheet)}


def _flat(file: SourceFile) -> Iterator[tuple[object, ...]]:
    """Yield the rows of {worker: {job: {partner or "null": speed or [speed, speed]}}}."""
    try:
        for worker, jobs in json.loads(file.path.read_text(encoding="utf-8")).items():
            for job, partners in jobs.items():
                for partner, speed in partners.items():
                    if partner == "null":
                        yield worker, job, None, speed, None
                    else:
                        yield worker, job, partner, *speed
    except (json.JSONDecodeError, AttributeError, TypeError) as cause:
        raise FormatError(
            f"{file.origin}: is not Gavel's table of throughputs ({cause}). "
            "Fetch the file again, or check which file this is."
        ) from cause


def _speeds(sheet: Sheet) -> ibis.Table:
    worker, job, partner = (sheet.text(name) for name in _COLUMNS[:3])
    sheet.bad_if(worker.isnull(), "worker is missing")
    sheet.bad_if(job.isnull() | ~job.re_search(_JOB), "job is not a (model, GPUs) pair")
    sheet.bad_if(
        partner.notnull() & ~partner.re_search(_JOB), "colocated_with is not a (model, GPUs) pair"
    )
    return sheet.select(
        gpu_type=worker.replace(_SPREAD, ""),
        consolidated=~worker.endswith(_SPREAD),
        **_parts(job, ""),
        **_parts(partner, "partner_"),
        steps_per_s=_measured(sheet.number("steps_per_s")),
        partner_steps_per_s=_measured(sheet.number("other_steps_per_s")),
    )


def _parts(job: ibis.Value, prefix: str) -> dict[str, ibis.Value]:
    return {
        f"{prefix}model": job.re_extract(_JOB, 1).nullif(""),
        f"{prefix}batch_size": job.re_extract(_JOB, 2).nullif("").try_cast("float64"),
        f"{prefix}gpus": job.re_extract(_JOB, 3).nullif("").try_cast("float64"),
    }


def _measured(speed: ibis.Value) -> ibis.Value:
    """A speed of 0 means: does not fit, or was not measured."""
    return (speed > 0).ifelse(speed, ibis.null("float64"))


READER = Reader(
    name="gavel",
    title="Gavel: measured training speed alone and sharing a GPU, per GPU type",
    fills={
        "throughput": (
            "gpu_type consolidated model batch_size gpus partner_model partner_batch_size "
            "partner_gpus steps_per_s partner_steps_per_s"
        ).split()
    },
    cannot="jobs, users and arrivals: these are measured speeds, kept as a side table",
    read=_read,
    patterns=("*throughputs*",),
    signature=_COLUMNS,
)
