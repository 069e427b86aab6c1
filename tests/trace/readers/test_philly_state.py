from __future__ import annotations

from pathlib import Path

import pytest

from prophase.trace import open_trace


def test_jobs_busy_nodes_and_shares_of_the_tenants_are_read(tmp_path: Path) -> None:
    (tmp_path / "jobs_all_status.csv").write_text(
        "job_id,submit_time,arrival_s,num_gpus,run_s\n0,2017-08-14 23:27:00,0.0,1,60.0\n"
    )
    (tmp_path / "active_nodes_by_minute.csv").write_text(
        "time,active,total\n2017-10-03 00:00:00,312,420\n"
    )
    (tmp_path / "vc_nodes.csv").write_text("vc,node num\n6214e9,64\n")
    trace = open_trace(tmp_path, source="philly-state")
    assert trace.jobs.submit_s.tolist() == [1502753220.0]
    assert trace.usage.loc[0, ["series_id", "active_nodes"]].tolist() == ["cluster", 312.0]
    assert trace.tables["vc_nodes"].nodes.tolist() == [64.0]


@pytest.mark.data
def test_the_published_quantiles_come_out(shared_data: Path) -> None:
    trace = open_trace(shared_data / "philly-cluster-state", source="philly-state")
    assert trace.usage.active_nodes.quantile([0.1, 0.5, 0.9]).tolist() == [284, 340, 378]
    assert trace.jobs.duration_s.quantile([0.1, 0.25]).tolist() == [60, 217]
    assert trace.tables["vc_nodes"].nodes.sum() == 352
