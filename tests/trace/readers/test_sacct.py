from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FormatError, MissingColumnError, ParameterError
from prophase.trace import check_jobs, open_trace
from prophase.trace.import_pipeline import import_trace
from prophase.trace.readers.sacct import LAYOUTS
from prophase.trace.workspace import Workspace

HEADER = (
    "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|"
    "ReqCPUS|ReqMem|ReqTRES|AllocTRES|MaxRSS|TotalCPU|MaxDiskRead|AveDiskRead|NTasks|Color"
)
DAY = "2021-02-11T"


def line(identity: str, **cells: str) -> str:
    """One line of the dump; cells that are not named are empty."""
    return "|".join({"JobID": identity, **cells}.get(name, "") for name in HEADER.split("|"))


def dump(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "jobs.sacct"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def jobs_of(path: Path, **options: str) -> pd.DataFrame:
    trace = open_trace(path, source="sacct", options=options)
    return check_jobs(trace.jobs).set_index("job_id")


@pytest.fixture
def finished() -> dict[str, str]:
    return {
        "User": "ann",
        "Account": "lab",
        "Partition": "gpu",
        "JobName": "train",
        "State": "COMPLETED",
        "Submit": DAY + "10:00:00",
        "Start": DAY + "10:01:00",
        "End": DAY + "11:01:00",
        "Elapsed": "01:00:00",
        "Timelimit": "1-00:00:00",
        "NNodes": "2",
        "NCPUS": "16",
        "ReqCPUS": "16",
        "ReqMem": "31000Mn",
        "ReqTRES": "billing=16,cpu=16,gres/gpu=4,gres/gpu:a100=4,mem=62000M,node=2",
    }


def test_requests_are_per_node_and_times_are_seconds(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    job = jobs_of(dump(tmp_path, line("7", **finished))).loc["7"]
    assert (job["user"], job["group"], job["queue"], job["name"]) == ("ann", "lab", "gpu", "train")
    assert (job["instances"], job["request_cpu_cores"], job["request_gpus"]) == (2, 8, 2)
    assert job["gpu_type"] == "a100"
    assert job["request_memory_gib"] == pytest.approx(31000 / 1024)
    assert (job["wait_s"], job["duration_s"], job["time_limit_s"]) == (60, 3600, 86400)
    assert job["status"] == "completed"


@pytest.mark.parametrize(
    ("asked", "gib_per_node"),
    [
        ("2800Mc", 2800 * 16 / 2 / 1024),
        ("4G", 2.0),
        ("2147486648Mn", 3000 * 16 / 2 / 1024),
        ("0n", 62000 / 2 / 1024),
    ],
)
def test_requested_memory_is_turned_into_memory_per_node(
    tmp_path: Path, finished: dict[str, str], asked: str, gib_per_node: float
) -> None:
    path = dump(tmp_path, line("7", **finished | {"ReqMem": asked}))
    assert jobs_of(path).loc["7", "request_memory_gib"] == pytest.approx(gib_per_node)


def test_a_mark_folded_into_the_requested_memory_is_counted(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    path = dump(tmp_path, line("7", **finished | {"ReqMem": "2147486648Mn"}))
    report = open_trace(path, source="sacct").report
    assert report is not None
    assert report.tables["jobs"].repaired == {"per-CPU mark taken out of ReqMem": 1}


def test_steps_are_folded_into_their_job_and_counted(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    path = dump(
        tmp_path,
        line("7", **finished, TotalCPU="08:00:00"),
        line("7.batch", State="COMPLETED", MaxRSS="1048576K", MaxDiskRead="1M", NTasks="1"),
        line("7.extern", State="COMPLETED", MaxRSS="0"),
        line("7.0", State="COMPLETED", MaxRSS="3G", AveDiskRead="2M", MaxDiskRead="3M", NTasks="4"),
        line("8", **finished),
        line("9.batch", State="COMPLETED", MaxRSS="1G"),
    )
    trace = open_trace(path, source="sacct")
    jobs = trace.jobs.set_index("job_id")
    assert sorted(jobs.index) == ["7", "8"]
    assert jobs.loc["7", "memory_peak_gib"] == 3.0
    assert jobs.loc["7", "cpu_mean_cores"] == pytest.approx(4.0)
    assert jobs.loc["7", "read_bytes"] == pytest.approx((1 + 8) * 2**20 / 2)
    assert pd.isna(jobs.loc["8", "memory_peak_gib"])
    assert trace.report is not None
    count = trace.report.tables["jobs"]
    assert (count.read, count.kept) == (6, 2)
    assert count.dropped == {"step row, folded into its job": 4}
    assert any("1 step rows have no job row" in note for note in trace.report.notes)


def test_array_tasks_and_het_components_name_their_parent(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    waiting = {"State": "PENDING", "Submit": DAY + "10:00:00", "Start": DAY + "23:00:00"}
    path = dump(
        tmp_path,
        line("12_3", **finished),
        line("12_[4-9%2]", **waiting),
        line("13+1", **finished),
        line("14", **finished),
    )
    trace = open_trace(path, source="sacct")
    jobs = trace.jobs.set_index("job_id")
    assert jobs["parent_id"].to_dict() | {"14": None} == {
        "12_3": "12",
        "12_[4-9%2]": "12",
        "13+1": "13",
        "14": None,
    }
    assert pd.isna(jobs.loc["14", "parent_id"])
    assert jobs.loc["12_[4-9%2]", "status"] == "pending"
    assert pd.isna(jobs.loc["12_[4-9%2]", "start_s"])
    assert trace.report is not None
    assert any("one row per array" in note for note in trace.report.notes)


def test_a_running_job_has_no_end_and_no_duration(tmp_path: Path, finished: dict[str, str]) -> None:
    cells = finished | {"State": "RUNNING", "End": "Unknown", "Timelimit": "UNLIMITED"}
    jobs = jobs_of(dump(tmp_path, line("7", **cells), line("8", **finished)))
    assert jobs["after_elapsed_s"].tolist() == [3600.0, pytest.approx(float("nan"), nan_ok=True)]
    job = jobs.loc["7"]
    assert job["status"] == "running"
    assert job[["end_s", "duration_s", "time_limit_s"]].isna().all()
    assert job["start_s"] > 0


def test_gpus_that_only_the_allocation_names_were_asked_for(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    old = finished | {"ReqTRES": "cpu=16,node=2", "AllocTRES": "cpu=16,gres/gpu=2,node=2"}
    none = finished | {"ReqTRES": "cpu=16,node=2", "AllocTRES": "cpu=16,node=2"}
    jobs = jobs_of(dump(tmp_path, line("7", **old), line("8", **none)))
    assert jobs["request_gpus"].to_dict() == {"7": 1.0, "8": 0.0}


def test_an_allocation_without_gpus_is_of_a_job_that_asked_for_none(tmp_path: Path) -> None:
    header = "JobID|State|Start|End|AllocTRES"
    ran = f"COMPLETED|{DAY}10:00:00|{DAY}11:00:00"
    lines = [f"1|{ran}|cpu=4,mem=8G,node=1", f"2|{ran}|cpu=4,gres/gpu=2,node=1",
             "3|CANCELLED|Unknown|Unknown|"]  # fmt: skip
    jobs = jobs_of(dump(tmp_path, *lines, header=header))
    assert jobs["request_gpus"].fillna(-1).to_dict() == {"1": 0.0, "2": 2.0, "3": -1.0}


def test_a_column_nobody_knows_is_kept_as_known_afterwards(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    jobs = jobs_of(dump(tmp_path, line("7", **finished, Color="blue")))
    assert jobs.loc["7", "after_color"] == "blue"


def test_few_columns_in_any_order_and_case_are_enough(tmp_path: Path) -> None:
    path = dump(
        tmp_path, "00:10:00|5|FAILED|4|", header="Elapsed|jobid|State|AllocCPUS|"
    )  # sacct -p ends lines with a separator
    trace = open_trace(path, source="sacct")
    job = trace.jobs.iloc[0]
    assert (job["job_id"], job["duration_s"], job["status"]) == ("5", 600, "failed")
    assert job["request_cpu_cores"] == 4
    assert trace.report is not None
    assert any("allocated ones count" in note for note in trace.report.notes)


def test_a_dump_without_header_is_read_by_layout_by_names_or_refused(tmp_path: Path) -> None:
    cells = dict.fromkeys(LAYOUTS[26], "") | {"JobID": "5", "State": "COMPLETED", "QOS": "high"}
    known = tmp_path / "known.psv"
    known.write_text("|".join(cells.values()) + "\n", encoding="utf-8")
    assert open_trace(known, source="sacct").jobs["attr_qos"].tolist() == ["high"]
    short = tmp_path / "short.psv"
    short.write_text("5;ann;00:01:00\n", encoding="utf-8")
    with pytest.raises(FormatError, match="3 fields are no layout"):
        open_trace(short, source="sacct")
    with pytest.raises(ParameterError, match="2 columns are named, but the line has 3 fields"):
        open_trace(short, source="sacct", options={"columns": "JobID,User"})
    named = open_trace(short, source="sacct", options={"columns": "JobID,User,Elapsed"}).jobs
    assert named["duration_s"].tolist() == [60.0]


def test_clusters_in_one_dump_keep_their_numbers_apart(tmp_path: Path) -> None:
    header = "JobID|Cluster|State|Elapsed|MaxRSS"
    path = dump(
        tmp_path,
        "1|east|COMPLETED|00:01:00|",
        "1|west|COMPLETED|00:02:00|",
        "1.0|west|COMPLETED|00:02:00|2G",
        header=header,
    )
    jobs = open_trace(path, source="sacct").jobs.set_index("job_id")
    assert sorted(jobs.index) == ["east/1", "west/1"]
    assert jobs.loc["west/1", "memory_peak_gib"] == 2.0
    assert pd.isna(jobs.loc["east/1", "memory_peak_gib"])


def test_words_where_a_time_should_be_are_bad_rows(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    path = dump(tmp_path, line("7", **finished | {"Submit": "yesterday"}))
    with pytest.raises(BadRowsError, match="Submit is not a time"):
        open_trace(path, source="sacct")


def test_a_dump_without_job_ids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError, match="JobID"):
        open_trace(dump(tmp_path, "ann|COMPLETED", header="User|State"), source="sacct")


def submissions(folder: Path) -> Path:
    path = folder / "workload_jobs2.csv"
    path.write_text(
        "dt;job_id;wall_time;user;wall_limit;n_tasks;ntasks_per_node;account;partition;qos;"
        "constraint;mem;gres\n"
        "0;1;15;ann;7;36;12;lab;normal;normal;CPU-N;;\n"
        "49;2;-1;bob;30;1;1;lab;normal;normal;;2048;gpu:2\n",
        encoding="utf-8",
    )
    return path


def test_a_submission_file_alone_becomes_jobs(tmp_path: Path) -> None:
    jobs = open_trace(submissions(tmp_path)).jobs.set_index("job_id")
    assert jobs["instances"].tolist() == [3, 1]
    assert jobs["request_cpu_cores"].tolist() == [12, 1]
    assert jobs["time_limit_s"].tolist() == [420, 1800]
    assert jobs["duration_s"].tolist() == [15, 1800]
    assert jobs["request_gpus"].tolist() == [0, 2]
    assert jobs.loc["2", "request_memory_gib"] == 2.0
    assert jobs.loc["1", "attr_constraint"] == "CPU-N"


def test_beside_a_dump_submissions_add_the_jobs_without_an_outcome(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    submissions(tmp_path)
    dump(tmp_path, line("1", **finished))
    trace = open_trace(tmp_path, source="sacct")
    jobs = trace.jobs.set_index("job_id")
    assert set(trace.tables) == {"jobs"}
    assert jobs.index.tolist() == ["1", "2"]
    assert jobs["wait_s"].notna().tolist() == [True, False]
    # 49 s after the first job, on the clock of the dump
    assert jobs.loc["2", "submit_s"] - jobs.loc["1", "submit_s"] == 49
    assert jobs.loc["2", "duration_s"] == 1800
    assert jobs.loc["1", "attr_features"] == "CPU-N"


def test_submissions_that_share_no_job_with_the_dump_stay_apart(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    submissions(tmp_path)
    dump(tmp_path, line("77", **finished))
    tables = open_trace(tmp_path, source="sacct").tables
    assert {name: len(table) for name, table in tables.items()} == {"jobs": 1, "submissions": 2}


def test_a_configuration_beside_the_submissions_gives_nodes_and_default_memory(
    tmp_path: Path,
) -> None:
    submissions(tmp_path)
    (tmp_path / "slurm.conf").write_text(
        "NodeName=n[1-3] CPUs=12 RealMemory=49152 Feature=IB,CPU-N\n"
        "PartitionName=normal Nodes=ALL DefMemPerCPU=1024\n"
    )
    trace = open_trace(tmp_path)
    assert trace.nodes["node_id"].tolist() == ["n1", "n2", "n3"]
    assert trace.jobs["request_memory_gib"].tolist() == [12.0, 2.0]


@pytest.mark.data
def test_the_phillips_dump_reads_as_its_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "xdmod-sacct")
    jobs = check_jobs(trace.jobs)
    assert trace.source == "sacct"
    assert len(jobs) == 4285
    assert (jobs["request_gpus"] > 0).sum() == 2
    assert jobs["user"].nunique() == 4
    assert jobs["duration_s"].quantile([0.5, 0.9, 0.99]).round().tolist() == [25, 54, 169]
    # ReqTRES states the total that the folded per-CPU figure must give
    folded = jobs[jobs["after_req_tres"] == "cpu=8,mem=24000M,node=1"]
    assert len(folded) == 4238
    assert folded["request_memory_gib"].unique() == pytest.approx([24000 / 1024])


@pytest.mark.data
def test_the_micro_cluster_run_reads_as_its_readme_says(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "ubccr-micro-slurm"
    every = check_jobs(open_trace(folder).jobs)
    assert len(every) == 500
    jobs = every[every["wait_s"].notna()]
    assert jobs["status"].value_counts().to_dict() == {"completed": 247, "timeout": 3}
    assert jobs["wait_s"].mean() == pytest.approx(8162, abs=1)
    assert every["request_gpus"].gt(0).sum() == 53
    assert every["attr_features"].value_counts().to_dict() == {"CPU-M": 102, "CPU-N": 100}
    # 43 jobs ask for 500,000 MB per node, all others get 2,800 MB per core
    big = every["request_memory_gib"] == 500_000 / 1024
    assert big.sum() == 43
    plain = every[~big]
    assert plain["request_memory_gib"].to_numpy() == pytest.approx(
        plain["request_cpu_cores"].to_numpy() * 2800 / 1024
    )
    both = jobs.merge(
        open_trace(folder / "workload_jobs500.csv").jobs, on="job_id", suffixes=("", "_asked")
    )
    assert len(both) == 250
    for column in ("instances", "request_cpu_cores", "request_gpus", "time_limit_s", "group"):
        assert (both[column] == both[f"{column}_asked"]).all()
    assert ((both["submit_s"] - both["submit_s"].min()) == both["submit_s_asked"]).all()
    # a job without an end runs to its limit; then run times agree to the second
    assert (both["duration_s"] - both["duration_s_asked"]).between(0, 1).all()


def test_a_dump_without_steps_says_that_memory_cannot_be_known(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    alone = dump(tmp_path, line("1", **{**finished, "MaxRSS": ""}))
    report = import_trace("sacct", alone, Workspace.prepare(tmp_path / "ws"))
    (note,) = [one for one in report.notes if "no step rows" in one]
    assert "sacct -aDP -S now-30days -o ALL" in note


def test_nodes_that_were_given_count_where_more_were_given_than_asked_for(
    tmp_path: Path, finished: dict[str, str]
) -> None:
    wide = {
        **finished, "NNodes": "2", "ReqMem": "32000M", "ReqTRES": "cpu=16,mem=32000M,node=1",
        "AllocTRES": "cpu=16,mem=64000M,node=2",
    }  # fmt: skip
    job = jobs_of(dump(tmp_path, line("1", **wide))).loc["1"]
    assert (job["instances"], job["request_cpu_cores"]) == (2.0, 8.0)
    assert job["request_memory_gib"] == pytest.approx(32000 / 1024)


def test_attempts_keep_their_own_steps_and_a_kill_stays_a_kill(tmp_path: Path) -> None:
    header = "JobID|DBIndex|State|Submit|Start|End|MaxRSS|SubmitLine"
    rows = [
        f"7|1|REQUEUED|{DAY}10:00:00|{DAY}10:00:01|{DAY}10:01:00||sbatch --wrap srun a",
        "srun b",
        f"7.batch|1|OUT_OF_MEMORY|{DAY}10:00:01|{DAY}10:00:01|{DAY}10:01:00|50M|",
        f"7|2|COMPLETED|{DAY}10:02:00|{DAY}10:02:01|{DAY}10:03:00||sbatch --wrap srun a",
        "srun b",
        f"7.batch|2|COMPLETED|{DAY}10:02:01|{DAY}10:02:01|{DAY}10:03:00|90M|",
    ]
    jobs = jobs_of(dump(tmp_path, *rows, header=header))
    assert jobs["status"].to_dict() == {"7": "oom", "7#2": "completed"}
    assert jobs["memory_peak_gib"].tolist() == pytest.approx([50 / 1024, 90 / 1024])
    assert jobs.loc["7", "attr_submit_line"] == "sbatch --wrap srun a srun b"


_JOB = {
    "account": "lab", "name": "train", "partition": "gpu", "job_id": 7, "user": "ann",
    "allocation_nodes": 1, "association": {"user": "ann"}, "state": {"current": ["COMPLETED"]},
    "time": {"submission": 1_613_037_600, "start": 1_613_037_660, "end": 1_613_041_260,
             "elapsed": 3600, "limit": {"set": True, "infinite": False, "number": 1440}},
    "tres": {
        "requested": [{"type": "cpu", "name": "", "count": 4}, {"type": "mem", "count": 8192},
                      {"type": "gres", "name": "gpu", "count": 2}],
        "allocated": [{"type": "cpu", "count": 4}, {"type": "energy", "count": None}],
    },
    "steps": [
        {"step": {"id": "7.batch", "name": "batch"}, "state": ["COMPLETED"],
         "tres": {"requested": {"max": [{"type": "mem", "count": 3 << 30}]}}}
    ],
}  # fmt: skip


@pytest.mark.parametrize("meta_first", [True, False])
def test_what_sacct_writes_as_json_is_read_like_its_table(tmp_path: Path, meta_first: bool) -> None:
    about = {"meta": {"Slurm": {"release": "24.11.5"}}}
    listed = {"jobs": [_JOB, {**_JOB, "job_id": 8, "steps": []}]}
    path = tmp_path / "jobs.json"
    document = about | listed if meta_first else listed | about
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    trace = open_trace(path)
    assert trace.source == "sacct"
    assert trace.clock == "unix"
    jobs = check_jobs(trace.jobs).set_index("job_id")
    assert list(jobs.index) == ["7", "8"]
    first = jobs.loc["7"]
    assert (first["submit_s"], first["duration_s"]) == (1_613_037_600, 3600)
    assert (first["request_memory_gib"], first["memory_peak_gib"]) == (8, 3)
    assert (first["request_gpus"], first["time_limit_s"]) == (2, 86_400)
    assert first["after_alloc_tres"] == "cpu=4"
    assert jobs["memory_peak_gib"].isna()["8"]


def test_json_that_breaks_off_is_refused(tmp_path: Path) -> None:
    whole = json.dumps({"jobs": [_JOB, _JOB]})
    (tmp_path / "jobs.json").write_text(whole[:-100], encoding="utf-8")
    with pytest.raises(FormatError, match=r"breaks off after 1 job.*sacct -aD .* --json"):
        open_trace(tmp_path / "jobs.json", source="sacct")


def test_a_job_in_two_dumps_of_a_folder_is_one_job(tmp_path: Path) -> None:
    header = "JobID|State|Submit|Start|End|MaxRSS"
    began = f"{DAY}10:00:00|{DAY}10:00:01"
    first = [
        f"7|RUNNING|{began}|Unknown|",
        f"8|PENDING|{DAY}10:00:00|Unknown|Unknown|",
        f"9|REQUEUED|{began}|{DAY}10:01:00|",
        f"9|COMPLETED|{DAY}10:00:00|{DAY}10:02:00|{DAY}10:03:00|",
    ]
    again = [
        f"7|COMPLETED|{began}|{DAY}12:00:00|",
        f"7.batch|COMPLETED|{began}|{DAY}12:00:00|50M",
        f"8|COMPLETED|{DAY}10:00:00|{DAY}11:00:01|{DAY}12:00:00|",
    ]
    (tmp_path / "sacct-may.txt").write_text("\n".join([header, *first, ""]))
    (tmp_path / "sacct-june.txt").write_text("\n".join([header, *again, *first[2:], ""]))
    trace = open_trace(tmp_path, source="sacct")
    jobs = trace.jobs.set_index("job_id")
    assert jobs["status"].to_dict() == {
        "7": "completed", "8": "completed", "9": "preempted", "9#2": "completed",
    }  # fmt: skip
    assert jobs.loc["7", "memory_peak_gib"] == pytest.approx(50 / 1024)
    assert trace.report.tables["jobs"].dropped["in another file of the dump, too"] == 4
