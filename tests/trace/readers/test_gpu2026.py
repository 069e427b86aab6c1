"""Alibaba's GPU trace of 2026, in the layout and the types of its release."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prophase.errors import ProphaseError
from prophase.trace import open_trace
from prophase.trace.trace_tables import Trace

#: columns and types of docs/schema.md, without the two that are folders
_POD_HOURS = pa.schema(
    [
        *((name, pa.string()) for name in (
            "pod_id", "workload_id", "server_id", "cluster_id", "state_public", "gpu_spec_public",
        )),
        ("server_gpu_count", pa.float64()),
        ("server_cpu_capacity_cores", pa.float64()),
        *((name, pa.string()) for name in (
            "priority_class", "job_type_public", "model_type_public",
        )),
        ("is_genai_request", pa.bool_()),
        *((name, pa.float64()) for name in (
            "gpu_request", "gpu_mem_request", "cpu_request_cores", "used_gpu_hours",
            "avg_gpu_sm_util", "avg_gpu_mem_gib", "avg_cpu_request_util", "avg_memory_util",
        )),
        ("ready_status", pa.bool_()),
        ("schedule_delay_sec", pa.int64()),
        ("ready_delay_sec", pa.int64()),
    ]
)  # fmt: skip
_SERVERS = pa.schema(
    [
        *((name, pa.string()) for name in ("server_id", "cluster_id", "asw_id", "gpu_spec_public")),
        ("gpu_count", pa.float64()),
        ("cpu_capacity_cores", pa.float64()),
    ]
)
_NETWORK = pa.schema(
    [("server_id", pa.string()), ("rx_gibps_avg", pa.float64()), ("tx_gibps_avg", pa.float64())]
)
_EXECUTIONS = pa.schema(
    [
        *((name, pa.string()) for name in (
            "pod_id", "workload_id", "server_id", "gpu_spec_public", "priority_class",
            "job_type_public", "model_type_public",
        )),
        ("is_genai_request", pa.bool_()),
        ("gpu_request", pa.float64()),
        ("duration_hours", pa.float64()),
        ("schedule_delay_sec", pa.int64()),
        ("ready_delay_sec", pa.int64()),
        ("ready_status", pa.bool_()),
        ("schedule_status", pa.bool_()),
    ]
)  # fmt: skip


def _pod(pod: str, state: str, sm: float | None, delay: int | None, **other: object) -> dict:
    row = {
        "pod_id": pod, "workload_id": "w1", "server_id": "s1", "cluster_id": "c1",
        "state_public": state, "gpu_spec_public": "H20", "server_gpu_count": 8.0,
        "server_cpu_capacity_cores": 192.0, "priority_class": "HP", "job_type_public": "training",
        "model_type_public": "genai", "is_genai_request": True, "gpu_request": 2.0,
        "gpu_mem_request": 192.0, "cpu_request_cores": 16.0, "used_gpu_hours": 2.0,
        "avg_gpu_sm_util": sm, "avg_gpu_mem_gib": 60.0, "avg_cpu_request_util": 0.5,
        "avg_memory_util": 0.25, "ready_status": True, "schedule_delay_sec": delay,
        "ready_delay_sec": 40,
    }  # fmt: skip
    return row | other


def _write(rows: list[dict], schema: pa.Schema, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), file)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gpu2026") / "data"
    hours = {
        "08": [_pod("p1", "Running", 150.0, 600), _pod("p2", "Pending", None, None)],
        "09": [
            _pod("p1", "Running", 50.0, 600, server_id="s2"),
            _pod("p2", "Running", 20.0, 3600, priority_class="LP", gpu_request=0.5),
        ],
        "10": [_pod("p2", "Succeeded", 40.0, 3600, priority_class="LP", gpu_request=0.5)],
        "11": [_pod("p3", "Standby", 0.0, 5, workload_id=None)],
    }
    server = {"server_id": "s1", "cluster_id": "c1", "asw_id": "a1", "gpu_spec_public": "H20",
              "gpu_count": 8.0, "cpu_capacity_cores": 192.0}  # fmt: skip
    for hour, pods in hours.items():
        where = Path("day=109") / f"hour={hour}" / "part-000.parquet"
        _write(pods, _POD_HOURS, root / "asi_opensource_pod_hourly" / where)
        servers = [server] + [server | {"server_id": "s2"}] * (hour == "09")
        _write(servers, _SERVERS, root / "asi_opensource_server_hourly" / where)
        traffic = [{"server_id": "s1", "rx_gibps_avg": 0.5, "tx_gibps_avg": 0.25}]
        _write(traffic, _NETWORK, root / "asi_opensource_network_hourly" / where)
    run = {
        name: value for name, value in _pod("p1", "", 0, 600).items() if name in _EXECUTIONS.names
    }
    runs = [run | {"duration_hours": 1.5, "schedule_status": True}]
    _write(runs, _EXECUTIONS, root / "asi_opensource_job_execution_summary" / "part-000.parquet")
    return root


@pytest.fixture(scope="module")
def trace(release: Path) -> Trace:
    return open_trace(release)


def test_hours_of_a_pod_become_one_job_with_its_scheduling_delay(trace: Trace) -> None:
    assert trace.source == "gpu2026"
    jobs = trace.jobs.set_index("job_id")
    start = (109 * 24 + 8) * 3600
    one = jobs.loc["p1"]
    assert (one["start_s"], one["wait_s"], one["submit_s"]) == (start, 600, start - 600)
    assert one["duration_s"] == 1.5 * 3600  # of the table of executions
    assert (one["gpu_util_mean_pct"], one["cpu_mean_cores"], one["after_gpu_hours"]) == (100, 8, 4)
    assert (one["after_node"], one["group"], one["task"]) == ("s2", "w1", "training")
    assert pd.isna(one["status"])  # gone before the last hour: the trace does not say how


def test_a_pod_that_waited_starts_in_the_first_hour_in_which_it_ran(trace: Trace) -> None:
    jobs = trace.jobs.set_index("job_id")
    two = jobs.loc["p2"]
    assert two["start_s"] == (109 * 24 + 9) * 3600
    assert (two["duration_s"], two["status"], two["priority"]) == (7200, "completed", 0)
    assert two["request_gpus"] == 0.5
    assert jobs.loc["p3", "status"] == "running"
    assert pd.isna(jobs.loc["p3", "end_s"])


def test_sm_use_is_a_series_and_servers_are_nodes(trace: Trace) -> None:
    usage = trace.usage[trace.usage["series_id"] == "p1"].sort_values("time_s")
    assert list(usage["gpu_util_pct"]) == [150, 50]
    assert list(usage["time_s"].diff().dropna()) == [3600]
    nodes = trace.nodes.set_index("node_id")
    assert list(nodes.loc["s1", ["gpus", "cpu_cores", "gpu_type", "attr_switch"]]) == [
        8, 192, "H20", "a1",
    ]  # fmt: skip
    assert pd.isna(nodes.loc["s1", "available_from_s"])
    assert nodes.loc["s2", "available_until_s"] == (109 * 24 + 10) * 3600


def test_the_table_of_executions_alone_says_how_long_pods_ran(release: Path) -> None:
    trace = open_trace(release / "asi_opensource_job_execution_summary")
    assert trace.source == "gpu2026"
    assert list(trace.jobs["duration_s"]) == [5400]
    assert list(trace.jobs["wait_s"]) == [600]


def test_a_damaged_file_is_named(release: Path, tmp_path: Path) -> None:
    good = release / "asi_opensource_job_execution_summary" / "part-000.parquet"
    cut = tmp_path / "part-000.parquet"
    cut.write_bytes(good.read_bytes()[:-20])
    with pytest.raises(ProphaseError, match=r"part-000.parquet: is a Parquet file that is cut"):
        open_trace(cut, source="gpu2026")
