from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prophase.trace import open_trace

HEADER = (
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,"
    "memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,"
    "scheduled_time,deletion_time\n"
)


def test_times_outside_the_trace_are_missing_and_minus_one_is_no_limit(tmp_path: Path) -> None:
    (tmp_path / "instances.csv").write_text(
        HEADER
        + "i1,CN,app_1,96,96,0,0,1,1,500.0,500.0,408.0,480.0,-1,,,\n"
        + "i2,HN,app_2,8,8,1,1,25,25,32.0,32.0,170.0,200.0,4,100,105,1105\n"
    )
    jobs = open_trace(tmp_path, source="dlrm2025").jobs.set_index("job_id")
    assert np.isnan(jobs.submit_s["i1"])
    assert jobs.status["i1"] == "running"
    assert np.isnan(jobs.attr_max_per_node["i1"])
    assert (jobs.wait_s["i2"], jobs.duration_s["i2"]) == (5, 1000)
    assert (jobs.attr_max_per_node["i2"], jobs.attr_rdma_pct["i2"]) == (4, 25)


@pytest.mark.data
def test_the_published_counts_and_quantiles_come_out(shared_data: Path) -> None:
    trace = open_trace(shared_data / "alibaba-dlrm2025", source="dlrm2025")
    jobs = trace.jobs
    assert jobs.group.nunique() == 104
    assert jobs.task.value_counts().to_dict() == {"CN": 8905, "HN": 4474}
    assert jobs[["submit_s", "start_s", "end_s"]].isna().sum().tolist() == [4224, 4224, 4973]
    assert jobs.wait_s.quantile([0.5, 0.75, 0.9]).tolist() == pytest.approx([0, 5, 59], abs=1)
    assert trace.nodes.gpus.sum() == 10412
    assert trace.nodes.gpu_type.value_counts()["A10"] == 2494
