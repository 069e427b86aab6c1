from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingFileError, ParameterError
from prophase.trace import check_jobs, check_nodes, open_trace

PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "openb-pod-0000,12000,16384,1,460,,LS,Running,0,900,2\n"
    "openb-pod-0001,32000,49152,8,1000,V100M32|T4|T4,BE,Succeeded,10,500,12\n"
    "openb-pod-0002,1000,1024,0,0,,LS,Pending,20,80,\n"
    "openb-pod-0003,1000,1024,1,1000,,LS,Running,30,80,40\n"
    "openb-pod-0004,1000,1024,1,1000,,LS,Failed,30,80,40\n"
    "openb-pod-0005,1000,1024,1,1000,,LS,Running,30,900,40\n"
)
NODES = (
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "openb-node-0000,64000,262144,2,P100\nopenb-node-0001,32000,131072,0,\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    first_five = "\n".join(",".join(row.split(",")[:5]) for row in PODS.splitlines()[:3])
    (tmp_path / "openb_pod_list_multigpu20.csv").write_text(first_five + "\n")
    (tmp_path / "openb_node_list_all_node.csv").write_text(NODES)
    (tmp_path / "openb_node_list_gpu_node.csv").write_text("\n".join(NODES.splitlines()[:2]) + "\n")
    return tmp_path


def test_requests_stay_decomposable_into_gpus_and_shares(folder: Path) -> None:
    jobs = check_jobs(open_trace(folder).jobs).set_index("job_id")
    share, whole = jobs.loc["openb-pod-0000"], jobs.loc["openb-pod-0001"]
    assert (share["request_gpus"], share["attr_num_gpu"], share["attr_gpu_milli"]) == (0.46, 1, 460)
    assert (whole["request_gpus"], whole["attr_num_gpu"], whole["attr_gpu_milli"]) == (8, 8, 1000)
    assert (share["request_cpu_cores"], share["request_memory_gib"]) == (12, 16)
    assert jobs["attr_row"].tolist() == [0, 1, 2, 3, 4, 5]


def test_rows_are_numbered_as_they_stand_in_the_list_whatever_the_pods_are_called(
    tmp_path: Path,
) -> None:
    head, *rows = PODS.replace("openb-pod-0003", "mine").splitlines()
    path = tmp_path / "openb_pod_list_own.csv"
    path.write_text("\n".join([head, *reversed(rows)]) + "\n")
    jobs = open_trace(path).jobs.set_index("job_id")["attr_row"]
    assert (jobs["openb-pod-0005"], jobs["mine"], jobs["openb-pod-0000"]) == (0, 2, 5)


def test_a_type_listed_twice_is_one_type_and_the_text_is_kept(folder: Path) -> None:
    job = open_trace(folder).jobs.set_index("job_id").loc["openb-pod-0001"]
    assert (job["gpu_type"], job["attr_gpu_spec"]) == ("T4|V100M32", "V100M32|T4|T4")


def test_types_are_read_from_a_list_without_times(tmp_path: Path) -> None:
    path = tmp_path / "openb_pod_list_own.csv"
    path.write_text("\n".join(",".join(row.split(",")[:6]) for row in PODS.splitlines()) + "\n")
    job = open_trace(path).jobs.set_index("job_id").loc["openb-pod-0001"]
    assert (job["gpu_type"], job["attr_gpu_spec"]) == ("T4|V100M32", "V100M32|T4|T4")


def test_phases_become_a_status_and_pods_left_at_the_end_have_no_end(folder: Path) -> None:
    trace = open_trace(folder)
    jobs = trace.jobs.set_index("job_id")
    assert jobs["status"].tolist() == [
        "running", "completed", "cancelled", "unknown", "failed", "running"
    ]  # fmt: skip
    assert jobs["end_s"].isna().tolist() == [True, False, False, False, False, True]
    assert jobs.loc["openb-pod-0000", "after_deleted_s"] == 900
    assert pd.isna(jobs.loc["openb-pod-0002", "start_s"])
    assert jobs.loc["openb-pod-0003", ["wait_s", "duration_s"]].tolist() == [10, 40]
    assert trace.report is not None
    assert any("2 pods were still there" in note for note in trace.report.notes)


def test_one_last_pod_alone_does_not_mark_the_end_of_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text("\n".join(PODS.splitlines()[:2]) + "\n")
    assert open_trace(path).jobs["end_s"].tolist() == [900]


def test_a_folder_gives_the_default_lists_and_reports_what_it_left_aside(folder: Path) -> None:
    trace = open_trace(folder)
    assert (len(trace.jobs), len(trace.nodes)) == (6, 1)
    assert trace.report is not None
    note = next(note for note in trace.report.notes if note.startswith("Left aside"))
    assert "openb_pod_list_multigpu20.csv" in note
    assert "openb_node_list_all_node.csv" in note
    assert sorted(trace.report.files) == [
        "openb_node_list_gpu_node.csv",
        "openb_pod_list_default.csv",
    ]


def test_other_lists_are_chosen_by_options(folder: Path) -> None:
    trace = open_trace(folder, options={"pods": "multigpu20", "nodes": "all"})
    assert (len(trace.jobs), len(trace.nodes)) == (2, 2)
    assert "submit_s" not in trace.jobs or trace.jobs["submit_s"].isna().all()
    assert pd.isna(check_nodes(trace.nodes).set_index("node_id").loc["openb-node-0001", "gpu_type"])
    with pytest.raises(ParameterError, match="Did you mean 'multigpu20'"):
        open_trace(folder, options={"pods": "multigpu30"})


def test_a_single_list_gives_its_own_table_only(folder: Path) -> None:
    assert list(open_trace(folder / "openb_pod_list_default.csv").tables) == ["jobs"]
    assert list(open_trace(folder / "openb_node_list_all_node.csv").tables) == ["nodes"]


def test_a_file_that_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(MissingFileError, match="neither the columns of a pod list"):
        open_trace(tmp_path / "x.csv", source="openb")


@pytest.mark.data
def test_the_real_lists_read_as_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "openb")
    jobs, nodes = check_jobs(trace.jobs), check_nodes(trace.nodes)
    assert len(jobs) == 8152
    assert (jobs["request_gpus"] == 0).sum() == 1088
    assert jobs["start_s"].isna().sum() == 897
    assert (jobs["status"] == "running").sum() == 34
    assert jobs["wait_s"].median() == 2
    assert jobs["wait_s"].mean() == pytest.approx(61, abs=1)
    assert (len(nodes), nodes["gpus"].sum(), nodes["cpu_cores"].sum()) == (1213, 6212, 107018)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows"),
    [("gpushare40", 8152), ("multigpu20", 8324), ("gpuspec20", 8152), ("cpu100", 7853)],
)
def test_rows_of_every_variant_can_be_found_by_their_number(
    shared_data: Path, name: str, rows: int
) -> None:
    file = f"openb_pod_list_{name}.csv"
    jobs = open_trace(shared_data / "openb" / file, source="openb").jobs.sort_values("attr_row")
    raw = pd.read_csv(shared_data / "openb" / file)
    assert jobs["attr_row"].tolist() == list(range(rows))
    assert jobs["job_id"].tolist() == raw["name"].tolist()
    assert np.rint(jobs["request_cpu_cores"] * 1000).tolist() == raw["cpu_milli"].tolist()
    assert (jobs["request_memory_gib"] * 1024).tolist() == raw["memory_mib"].tolist()
