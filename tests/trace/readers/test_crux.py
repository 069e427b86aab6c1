from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import MissingColumnError
from prophase.trace import open_trace


def test_jobs_and_the_switches_above_each_host_are_read(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job_id,arrival_s,num_gpus,run_s\n0,0.0,48,720.0\n")
    (tmp_path / "topology.csv").write_text("host,DSW,PSW,ASW\nh0,G6,P10,S14\n")
    trace = open_trace(tmp_path, source="crux")
    job = trace.jobs.iloc[0]
    assert (job.submit_s, job.request_gpus, job.duration_s) == (0.0, 48.0, 720.0)
    assert trace.nodes.features.tolist() == ["DSW=G6|PSW=P10|ASW=S14"]


def test_a_single_topology_file_gives_nodes_alone(tmp_path: Path) -> None:
    file = tmp_path / "hosts.csv"
    file.write_text("host,DSW,PSW,ASW\nh0,G6,P10,S14\n")
    assert list(open_trace(file, source="crux").tables) == ["nodes"]


def test_a_file_of_another_source_is_refused_by_its_columns(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("id,gpus\n1,2\n")
    with pytest.raises(MissingColumnError, match="needs the columns job_id, arrival_s"):
        open_trace(tmp_path, source="crux")


@pytest.mark.data
def test_the_published_quantiles_come_out(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "crux-lingjun", source="crux").jobs
    assert jobs.duration_s.quantile(0.5) == 420
    assert (jobs.duration_s == 0).sum() == 113
    assert jobs.request_gpus.max() == 744
