"""Alibaba Lingjun GPU cluster, August 2023 (Crux): arrivals of large gangs, and the network.

Source: Cao et al., "Crux: GPU-Efficient Communication Scheduling for Deep Learning
Training", SIGCOMM 2024. Jobs as reduced by the RFold authors: arrival, GPUs, run time.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having
from prophase.trace.reader import Reader, Tables
from prophase.trace.text_table import Sheet

_JOBS = ("job_id", "arrival_s", "num_gpus", "run_s")
_TOPOLOGY = ("host", "DSW", "PSW", "ASW")


def _read(dump: Dump) -> Tables:
    found = dump.find("jobs*.csv", "crux*.csv", "topo*.csv")
    jobs, hosts = having(found, *_JOBS), having(found, *_TOPOLOGY)
    if not jobs and not hosts:
        dump.sheet(found[0]).need(*_JOBS)
    tables: Tables = {}
    if jobs:
        tables["jobs"] = _jobs(dump.sheet(jobs[0]))
        dump.note("The clock has steps of one minute: shorter runs are 0 s long.")
    if hosts:
        tables["nodes"] = _nodes(dump.sheet(hosts[0]))
        dump.note("GPUs per host were not published; about 2,000 GPUs in all.")
    return tables


def _jobs(sheet: Sheet) -> ibis.Table:
    return sheet.select(
        job_id=sheet.text("job_id"),
        submit_s=sheet.number("arrival_s"),
        duration_s=sheet.number("run_s"),
        instances=ibis.literal(1.0),
        request_gpus=sheet.number("num_gpus"),
    )


def _nodes(sheet: Sheet) -> ibis.Table:
    """Keep the switches above a host as features: core, aggregation, top of rack."""
    switches = [ibis.literal(f"{level}=") + sheet.text(level) for level in _TOPOLOGY[1:]]
    return sheet.select(
        node_id=sheet.text("host"),
        features=switches[0] + "|" + switches[1] + "|" + switches[2],
    )


READER = Reader(
    name="crux",
    title="Alibaba Lingjun LLM-era GPU jobs and network topology, 2023 (Crux)",
    fills={
        "jobs": "job_id submit_s duration_s instances request_gpus".split(),
        "nodes": "node_id features".split(),
    },
    cannot="waits, users, models, status, CPU, memory and usage; GPUs per host",
    read=_read,
    patterns=("jobs*.csv", "crux*.csv", "topo*.csv"),
    signature=_JOBS,
    also=(_TOPOLOGY,),
)
