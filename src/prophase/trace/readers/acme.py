"""Shanghai AI Laboratory Acme, 2023: jobs of the LLM clusters Seren (Slurm) and Kalos (Kubernetes).

Source: Hu et al., "Characterization of Large Language Model Development in the
Datacenter", NSDI 2024. GPUs and CPUs are given for the whole job, memory per pod; an
instance here is one node or pod. In Kalos the published ``duration`` counts from the
submission, so run times are always end - start.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_formats import instant_s
from prophase.units.parsers import GIB

_NEEDED = ("job_id", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time")


def _read(dump: Dump) -> Tables:
    found = dump.find(*READER.patterns)
    return {"jobs": stack([_jobs(dump, file) for file in having(found, *_NEEDED) or found])}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need(*_NEEDED)
    nodes = sheet.number("node_num").clip(lower=1.0).fill_null(1.0)
    start, end = (sheet.parsed(name, instant_s, "a time") for name in ("start_time", "end_time"))
    reported = sheet.number("duration", optional=True)
    run = end - start
    return sheet.select(
        job_id=sheet.text("job_id"),
        user=sheet.text("user", optional=True),
        workload=sheet.text("type"),
        submit_s=sheet.parsed("submit_time", instant_s, "a time"),
        start_s=start,
        end_s=end,
        duration_s=run,
        status=slurm.status(sheet.text("state")),
        instances=nodes,
        request_cpu_cores=sheet.number("cpu_num") / nodes,
        request_gpus=sheet.number("gpu_num") / nodes,
        # Kalos has memory per pod, Seren has not
        request_memory_gib=sheet.number("mem_per_pod_GB", factor=GIB["gb"], optional=True),
        attr_shared_memory_gib=sheet.number("shared_mem_per_pod", factor=GIB["gb"], optional=True),
        attr_cluster=ibis.literal(file.stem.removeprefix("trace_")),
        **{
            f"after_{name.removesuffix('_time')}_s": sheet.parsed(name, instant_s, "a time")
            for name in ("fail_time", "stop_time")
            if sheet.has(name)
        },
        after_reported_duration_s=reported,
        **{f"{REPAIRED}duration included the wait": ((reported - run).abs() > 1).fill_null(False)},
    )


READER = Reader(
    name="acme",
    title="Shanghai AI Lab Acme (2023): jobs of the LLM clusters Seren and Kalos",
    fills={
        "jobs": (
            "job_id user workload submit_s start_s end_s duration_s wait_s status instances "
            "request_cpu_cores request_memory_gib request_gpus attr_cluster "
            "attr_shared_memory_gib after_fail_s after_stop_s after_reported_duration_s"
        ).split()
    },
    cannot="queues, time limits, measured use (utilisation is published per node, not per job)",
    read=_read,
    patterns=("trace_seren*.csv", "trace_kalos*.csv"),
    signature=("job_id", "node_num", "gpu_num", "cpu_num", "type", "state", "gpu_time"),
    clock="unix",
)
