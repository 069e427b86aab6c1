from __future__ import annotations

from pathlib import Path

from prophase.trace import open_trace
from prophase.trace.lint.linter import lint

#: columns in the order of the release
_HEADER = (
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
    "job_type\n"
)
_JOBS = """\
239255,13,A10,20,1,1,0,2764799,HP
253689,13,A10,8,1,1,0,15897599,HP
437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot
437261,57,A100-SXM4-80GB,15,1,94,9589663,71718,Spot
"""
_NODES = """gpu_model,gpu_capacity_num,cpu_num,node_name
GPU-series-1,4,192,0
A10,1,128,2
A100-SXM4-80GB,8,128,3
"""


def _release(folder: Path) -> Path:
    (folder / "job_info_df.csv").write_text(_HEADER + _JOBS)
    (folder / "node_info_df.csv").write_text(_NODES)
    return folder


def test_the_release_is_recognised_and_its_jobs_are_gangs_with_a_priority(tmp_path: Path) -> None:
    trace = open_trace(_release(tmp_path))
    assert trace.source == "spot-gpu2026"
    jobs = trace.jobs.set_index("job_id")
    assert list(jobs.loc["437261", ["instances", "request_gpus", "request_cpu_cores"]]) == [
        94,
        1,
        15,
    ]
    assert list(jobs["priority"]) == [1, 1, 0, 0]
    assert jobs.loc["437260", "queue"] == "Spot"
    assert jobs.loc["239255", "duration_s"] == 2764799
    nodes = trace.nodes.set_index("node_id")
    assert list(nodes["gpus"]) == [4, 1, 8]
    assert list(nodes["gpu_type"]) == ["GPU-series-1", "A10", "A100-SXM4-80GB"]


def test_a_gpu_type_that_is_held_beyond_its_nodes_is_found(tmp_path: Path) -> None:
    found = lint(_release(tmp_path)).findings
    (one,) = [one for one in found if one.check == "demand-above-capacity"]
    assert "129% of all A10 GPUs" in one.explanation
