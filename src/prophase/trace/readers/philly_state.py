"""Microsoft Philly, 2017: every job of any final status, and how many nodes were busy.

Source: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
Workloads", USENIX ATC 2019; jobs as reduced by the RFold authors, node counts as
published with Hu et al. (Helios), SC 2021. It is a source of its own beside ``philly``:
other columns, more jobs, and a cluster series to check a replay against.
"""

from __future__ import annotations

from prophase.trace.reader import Reader, SourceTable, constant, instant, number, text

READER = Reader.of_tables(
    "philly-state",
    "Microsoft Philly jobs of every final status (2017) and busy nodes per minute",
    SourceTable(
        "jobs",
        ("job_id", "submit_time", "arrival_s", "num_gpus", "run_s"),
        {
            "job_id": text("job_id"),
            "submit_s": instant("submit_time"),
            "duration_s": number("run_s"),
            "instances": constant(1.0),
            "request_gpus": number("num_gpus"),
        },
        "A run lasts from its first start to its last end, pauses included; no waits.",
    ),
    SourceTable(
        "usage",
        ("time", "active", "total"),
        {
            "series_id": constant("cluster"),
            "time_s": instant("time"),
            "active_nodes": number("active"),
            "total_nodes": number("total"),
        },
    ),
    SourceTable("vc_nodes", ("vc", "node num"), {"queue": text("vc"), "nodes": number("node num")}),
    cannot="waits, status, user and queue of a job; which node has how many GPUs",
    patterns=("jobs_all_status*.csv", "active_nodes*.csv", "vc_nodes*.csv"),
    aliases=("philly-cluster-state",),
    clock="local",
)
