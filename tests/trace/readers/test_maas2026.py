"""Alibaba's Model-as-a-Service trace, in the layout and the types of its manifest."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prophase.trace import Workspace, import_trace, open_trace
from prophase.trace.trace_tables import Trace

_TEXT = pa.string()
_DAILY = pa.schema(
    [("day", pa.int64())]
    + [(name, _TEXT) for name in (
        "instance_id", "app_id", "model_id", "base_id", "cluster_id", "site_id", "gpu_type",
        "workload", "model_arch",
    )]
    + [("params_b", pa.float64()), ("pd_role", _TEXT)]
    + [(name, pa.float64()) for name in ("gpu_count", "gpu_hours")]
    + [(name, pa.int64()) for name in ("samples", "zero_samples")]
    + [(name, pa.float64()) for name in ("sm_util", "gpu_mem_util", "cpu_usage", "mem_usage")]
    + [("base_arch", _TEXT), ("variant_arch", _TEXT), ("gpu_mem_alloc", pa.float64())]
)  # fmt: skip
_WEEKLY = pa.schema(
    [("instance_id", _TEXT), ("time_s", pa.int64()), ("cluster_id", _TEXT)]
    + [(name, pa.float64()) for name in (
        "gpu_count", "sm_util", "gpu_mem_util", "cpu_usage", "mem_usage",
    )]
    + [("samples", pa.int64())]
)  # fmt: skip
_CASES = r"""time_s,app_id,gpu_type,series_id,pd_role,metric,value
12096000,app_1,\N,series_1,prefill,ttft,812.5
12096000,app_1,gpu_a,series_2,\N,qps_norm,0.5
"""


def _segment(instance: str, day: int, **other: object) -> dict[str, object]:
    row = {
        "day": day, "instance_id": instance, "app_id": "app_1", "model_id": "s_1", "base_id": "-",
        "cluster_id": "c1", "site_id": "site1", "gpu_type": "gpu_a", "workload": "online",
        "model_arch": "moe", "params_b": None, "pd_role": "decode", "gpu_count": 4.0,
        "gpu_hours": 96.0, "samples": 300, "zero_samples": 30, "sm_util": 10.0,
        "gpu_mem_util": 50.0, "cpu_usage": 3.0, "mem_usage": 40.0, "base_arch": "unknown",
        "variant_arch": "moe", "gpu_mem_alloc": 320.0,
    }  # fmt: skip
    return row | other


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("maas") / "data"
    (root / "instance_daily").mkdir(parents=True)
    (root / "instance_week_5min").mkdir()
    first = [_segment("i1", 140), _segment("i1", 141, gpu_hours=48.0, samples=100, sm_util=50.0)]
    last = [_segment("i2", 142, workload="offline")]
    for place, rows in enumerate((first, last)):
        table = pa.Table.from_pylist(rows, _DAILY)
        pq.write_table(table, root / "instance_daily" / f"part_{place}.parquet", compression="zstd")
    weekly = [
        {"instance_id": "i1", "time_s": 12096000 + at, "cluster_id": "c1", "gpu_count": 4.0,
         "sm_util": 20.0, "gpu_mem_util": 50.0, "cpu_usage": 2.0, "mem_usage": 30.0, "samples": 15}
        for at in (0, 300)
    ]  # fmt: skip
    table = pa.Table.from_pylist(weekly, _WEEKLY)
    pq.write_table(table, root / "instance_week_5min" / "part_0.parquet", compression="zstd")
    (root / "app_metrics.csv").write_text(_CASES)
    (root / "app_cases.json").write_text("{}")
    (root / "manifest.json").write_text("{}")
    return root


@pytest.fixture(scope="module")
def trace(release: Path) -> Trace:
    return open_trace(release)


def test_segments_of_an_instance_become_one_job(trace: Trace) -> None:
    assert trace.source == "maas2026"
    jobs = trace.jobs.set_index("job_id")
    one = jobs.loc["i1"]
    assert one["start_s"] == 140 * 86400
    assert one["duration_s"] == (96 + 48) / 4 * 3600
    assert (one["after_gpu_hours"], one["request_gpus"]) == (144, 4)
    # weighted by samples, and of all four GPUs
    assert one["gpu_util_mean_pct"] == pytest.approx((10 * 300 + 50 * 100) / 400 * 4)
    assert one["gpu_memory_mean_gib"] == 160
    assert (one["group"], one["task"], one["queue"]) == ("app_1", "decode", "online")
    assert one["attr_base_model"] == "-"  # a placeholder of the release, not a missing value
    two = jobs.loc["i2"]
    assert two["status"] == "running"  # seen on the last day
    assert pd.isna(two["duration_s"])


def test_five_minutes_become_series_with_gpu_memory_in_gib(trace: Trace) -> None:
    usage = trace.usage
    assert list(usage["time_s"]) == [12096000, 12096300]
    assert list(usage["gpu_util_pct"]) == [80, 80]
    assert list(usage["gpu_memory_gib"]) == [160, 160]
    assert list(usage["memory_gib"]) == [30, 30]


def test_metrics_of_applications_are_kept_beside_them(release: Path, tmp_path: Path) -> None:
    report = import_trace("maas2026", release, Workspace.create(tmp_path / "workspace"))
    assert report.tables["app_metrics"].kept == 2
    assert not report.tables["app_metrics"].dropped
