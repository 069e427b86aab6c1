"""Alibaba Lingjun GPU cluster, August 2023 (Crux): arrivals of large gangs, and the network.

Source: Cao et al., "Crux: GPU-Efficient Communication Scheduling for Deep Learning
Training", SIGCOMM 2024. Jobs as reduced by the RFold authors: arrival, GPUs, run time.
"""

from __future__ import annotations

import ibis

from prophase.trace.reader import Reader, SourceTable, constant, number, text
from prophase.trace.text_table import Sheet

_LEVELS = ("DSW", "PSW", "ASW")


def _switches(sheet: Sheet) -> ibis.Value:
    """Keep the switches above a host as features: core, aggregation, top of rack."""
    switches = [ibis.literal(f"{level}=") + sheet.text(level) for level in _LEVELS]
    return switches[0] + "|" + switches[1] + "|" + switches[2]


READER = Reader.of_tables(
    "crux",
    "Alibaba Lingjun LLM-era GPU jobs and network topology, 2023 (Crux)",
    SourceTable(
        "jobs",
        ("job_id", "arrival_s", "num_gpus", "run_s"),
        {
            "job_id": text("job_id"),
            "submit_s": number("arrival_s"),
            "duration_s": number("run_s"),
            "instances": constant(1.0),
            "request_gpus": number("num_gpus"),
        },
        "The clock has steps of one minute: shorter runs are 0 s long.",
    ),
    SourceTable(
        "nodes",
        ("host", *_LEVELS),
        {"node_id": text("host"), "features": _switches},
        "GPUs per host were not published; about 2,000 GPUs in all.",
    ),
    cannot="waits, users, models, status, CPU, memory and usage; GPUs per host",
    patterns=("jobs*.csv", "crux*.csv", "topo*.csv"),
)
