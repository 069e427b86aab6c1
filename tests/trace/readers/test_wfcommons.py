from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingFileError
from prophase.trace.trace_tables import open_trace

HEADER = (
    "system,workflow,instance,task_id,task_name,runtime_s,memory_bytes,cores,avg_cpu_pct,"
    "read_bytes,write_bytes,input_files,input_bytes,output_bytes,machine,parents"
)


def split_run() -> dict[str, Any]:
    """A run of two tasks as schema 1.5 writes it."""
    return {
        "name": "run",
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "Pegasus", "version": "5"},
        "workflow": {
            "specification": {
                "tasks": [
                    {"name": "cut_ID01", "id": "cut_ID01", "parents": [], "children": ["join_ID02"],
                     "inputFiles": ["in"], "outputFiles": ["a", "b"]},
                    {"name": "join_ID02", "id": "join_ID02", "parents": ["cut_ID01"],
                     "children": [], "inputFiles": ["a", "b"]},
                ],
                "files": [
                    {"id": "in", "sizeInBytes": 0},
                    {"id": "a", "sizeInBytes": 10},
                    {"id": "b", "sizeInBytes": 20},
                ],
            },
            "execution": {
                "makespanInSeconds": 5,
                "executedAt": "2024-05-01T10:00:00Z",
                "tasks": [
                    {"id": "cut_ID01", "runtimeInSeconds": 2.5, "memoryInBytes": 1073741824,
                     "avgCPU": 150.0, "coreCount": 2, "machines": ["n1"],
                     "executedAt": "2024-05-01T12:00:00+02:00"},
                    {"id": "join_ID02", "runtimeInSeconds": 1, "executedAt": "05-10-23T16:23:32Z"},
                ],
            },
        },
    }  # fmt: skip


def write_json(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_specification_and_execution_meet_in_one_row_per_task(tmp_path: Path) -> None:
    write_json(tmp_path, "blast-small-001.json", split_run())
    jobs = open_trace(tmp_path, source="wfcommons").jobs.set_index("name")
    cut, join = jobs.loc["cut_ID01"], jobs.loc["join_ID02"]
    assert cut["job_id"] == "blast-small-001/cut_ID01"
    assert (cut["task"], cut["workload"], cut["attr_system"]) == ("cut", "blast", "pegasus")
    assert (cut["duration_s"], cut["memory_peak_gib"], cut["cpu_mean_cores"]) == (2.5, 1.0, 1.5)
    assert cut["start_s"] == 1714557600.0
    assert cut["after_node"] == "n1"
    assert cut["after_output_bytes"] == 30.0
    assert pd.isna(cut["attr_input_bytes"]), "an input without a size is unknown, not empty"
    assert join["attr_input_bytes"] == 30.0
    assert join["attr_parents"] == "cut_ID01"
    assert pd.isna(join["start_s"]), "a time that is no ISO time is left out"
    assert pd.isna(join["memory_peak_gib"])


def test_a_run_of_schema_1_4_holds_everything_in_its_tasks(tmp_path: Path) -> None:
    task = {
        "name": "sort_ID0000007",
        "id": "ID0000007",
        "runtimeInSeconds": 4,
        "memoryInBytes": 0,
        "cores": 1,
        "machine": "n3",
        "parents": [],
        "files": [
            {"link": "input", "name": "x", "sizeInBytes": 5},
            {"link": "output", "name": "y", "sizeInBytes": 7},
        ],
    }
    write_json(tmp_path, "sra-1.json", {"schemaVersion": "1.4", "workflow": {"tasks": [task]}})
    trace = open_trace(tmp_path, source="wfcommons")
    job = trace.jobs.iloc[0]
    assert (job["job_id"], job["task"], job["after_node"]) == ("sra-1/ID0000007", "sort", "n3")
    assert (job["attr_input_bytes"], job["after_output_bytes"]) == (5.0, 7.0)
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {"memory of 0 bytes, not measured": 1}


def test_json_and_table_can_stand_beside_each_other(tmp_path: Path) -> None:
    write_json(tmp_path, "blast-small-001.json", split_run())
    (tmp_path / "tasks.csv").write_text(
        f"{HEADER}\nmakeflow,bwa,bwa-1,t1,bwa_ID000001,3,4096,1,50,1,2,1,8,9,n1,\n",
        encoding="utf-8",
    )
    assert open_trace(tmp_path, source="wfcommons").jobs["workload"].tolist().count("bwa") == 1


def test_what_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    write_json(tmp_path, "other.json", {"tasks": []})
    with pytest.raises(FormatError, match=r"other\.json: is not a workflow run"):
        open_trace(tmp_path, source="wfcommons")
    (tmp_path / "other.json").unlink()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="WfFormat"):
        open_trace(tmp_path, source="wfcommons")


@pytest.mark.data
def test_the_real_runs_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "wfinstances")
    jobs = trace.jobs
    assert trace.source == "wfcommons"
    assert (len(jobs), jobs["parent_id"].nunique()) == (15_375, 51)
    assert trace.report is not None
    unmeasured = trace.report.tables["jobs"].repaired["memory of 0 bytes, not measured"]
    assert jobs["memory_peak_gib"].isna().sum() == 1748 + unmeasured
    runs = jobs.groupby("workload")["parent_id"].nunique()
    assert (runs["blast"], runs["bwa"], runs["montage"], runs["srasearch"]) == (9, 9, 8, 15)
    assert set(jobs.loc[jobs["workload"] == "blast", "task"]) == {
        "split_fasta", "blastall", "cat_blast", "cat",
    }  # fmt: skip
    ids = set(jobs["job_id"])
    one = jobs[jobs["workload"] == "montage"]
    parents = (
        f"{run}/{parent}"
        for run, listed in zip(one["parent_id"], one["attr_parents"], strict=True)
        if isinstance(listed, str)
        for parent in listed.split(" ")
    )
    assert all(parent in ids for parent in parents)
