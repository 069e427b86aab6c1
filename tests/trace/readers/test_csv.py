from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import (
    BadRowsError,
    FormatError,
    MissingColumnError,
    MissingFileError,
    ParameterError,
    ProphaseError,
)
from prophase.trace import check_jobs, check_nodes, check_usage, open_trace
from prophase.trace.readers.csv import guess_mapping
from prophase.trace.trace_tables import Trace


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def imported(data: Path, mapping: str | None = None, **settings: object) -> Trace:
    options = {}
    if mapping is not None:
        file = data.parent / "mapping.toml"
        file.write_text(mapping, encoding="utf-8")
        options = {"map": str(file)}
    return open_trace(data, source="csv", options=options, **settings)  # type: ignore[arg-type]


@pytest.fixture
def jobs_csv(tmp_path: Path) -> Path:
    return written(
        tmp_path / "jobs.csv",
        "nr;who;queued;secs;mem_mb;gpus;outcome;lr;exit",
        "7;ann;1600000000000;60;512;1;Pass;0.1;0",
        "8;bob;1600000060000;n/a;1024;2;Killed;0.01;9",
        "9;;1600000120000;30;2048;4;odd;0.02;1",
    )


MAPPING = """
clock = "unix"
[jobs]
files = "jobs*.csv"
separator = ";"
missing = ["n/a"]
attr = ["l?"]
after = ["exit"]
[jobs.columns]
job_id = "nr"
user = "who"
submit_s = { column = "queued", unit = "ms" }
duration_s = { column = "secs" }
request_memory_gib = { column = "mem_mb", unit = "MiB" }
request_gpus = "gpus"
status = "outcome"
instances = { constant = 1 }
[jobs.status]
Pass = "completed"
Killed = "cancelled"
"""


def test_a_mapping_converts_units_words_and_carries_further_columns_over(jobs_csv: Path) -> None:
    trace = imported(jobs_csv, MAPPING)
    jobs = check_jobs(trace.jobs).set_index("job_id")
    assert jobs.submit_s.tolist() == [1.6e9, 1.6e9 + 60, 1.6e9 + 120]
    assert jobs.request_memory_gib.tolist() == [0.5, 1.0, 2.0]
    assert jobs.status.tolist() == ["completed", "cancelled", "unknown"]
    assert jobs.attr_lr.tolist() == [0.1, 0.01, 0.02]
    assert jobs.after_exit.tolist() == [0.0, 9.0, 1.0]
    assert jobs.user.isna().tolist() == [False, False, True]
    assert np.isnan(jobs.duration_s["8"])
    assert trace.clock == "unix"
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {
        "status word not in the map, kept as unknown": 1
    }


def test_the_mapping_belongs_to_the_hash_of_the_data(jobs_csv: Path) -> None:
    other = MAPPING.replace('unit = "MiB"', 'unit = "MB"')
    assert imported(jobs_csv, MAPPING).data_hash != imported(jobs_csv, other).data_hash


@pytest.mark.parametrize(
    ("cells", "unit", "seconds"),
    [
        (["2021-05-01 02:26:23", "2021-05-01T02:26:23.5"], "datetime", [1619835983, 1619835983.5]),
        (["2021-05-01T02:26:23Z", "2021-05-01 04:26:23+02:00"], "datetime", [1619835983] * 2),
        (["1.5.2021 02:26:23", "01/05/2021 02:26:23"], "datetime dmy", [1619835983] * 2),
        (["5/1/2021 02:26:23", "05/01/2021 02:26:23"], "datetime mdy", [1619835983] * 2),
        (["1619835983", "1619835984"], "s", [1619835983, 1619835984]),
        (["1619835983500", ""], "ms", [1619835983.5, np.nan]),
        (["26993933", "26993934"], "min", [1619635980, 1619636040]),
    ],
)
def test_a_clock_may_be_written_in_many_ways(
    tmp_path: Path, cells: list[str], unit: str, seconds: list[float]
) -> None:
    data = written(tmp_path / "t.csv", "id,when", *(f"{n},{c}" for n, c in enumerate(cells)))
    mapping = f'[jobs.columns]\njob_id = "id"\nsubmit_s = {{ column = "when", unit = "{unit}" }}'
    jobs = imported(data, mapping).jobs.sort_values("job_id")
    np.testing.assert_allclose(jobs.submit_s, seconds)


def test_amounts_may_be_written_as_text(tmp_path: Path) -> None:
    data = written(
        tmp_path / "t.csv",
        "id,ran,mem,cpu",
        "0,1-02:00:03,512Mi,500m",
        "1,00:10,2 GiB,3",
        "2,02:00:00,1073741824,0.5",
        "3,10:00,1GB,2",
    )
    jobs = imported(
        data,
        """
        [jobs.columns]
        job_id = "id"
        duration_s = { column = "ran", unit = "hms" }
        request_memory_gib = { column = "mem", unit = "size" }
        request_cpu_cores = { column = "cpu", unit = "quantity" }
        """,
    ).jobs.sort_values("job_id")
    assert jobs.duration_s.tolist() == [93603, 10, 7200, 600]
    np.testing.assert_allclose(jobs.request_memory_gib, [0.5, 2.0, 1.0, 1e9 / 2**30])
    assert jobs.request_cpu_cores.tolist() == [0.5, 3.0, 0.5, 2.0]


def test_text_that_is_no_amount_is_a_bad_row_with_its_line(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "id,ran", "0,01:00:00", "1,an hour")
    mapping = '[jobs.columns]\njob_id = "id"\nduration_s = { column = "ran", unit = "hms" }'
    with pytest.raises(BadRowsError, match=r"t\.csv line 3: ran is 'an hour', which is not a time"):
        imported(data, mapping)


def test_jobs_without_an_id_are_numbered_and_it_is_said(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "secs", "5", "7")
    trace = imported(data, '[jobs.columns]\nduration_s = "secs"')
    assert trace.jobs.job_id.tolist() == ["job-0", "job-1"]
    assert trace.report is not None
    assert "numbered" in trace.report.notes[0]


def test_numbers_with_leading_zeros_are_carried_over_as_text(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "id,project,size", "1,007,3", "2,12,")
    jobs = imported(data, '[jobs]\nattr = ["project", "size"]\n[jobs.columns]\njob_id = "id"').jobs
    assert jobs.attr_project.tolist() == ["007", "12"]
    assert jobs.attr_size.iloc[0] == 3.0


def test_one_mapping_reads_jobs_usage_and_nodes_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    written(folder / "jobs.tsv", "id\tsecs", "a\t5")
    written(folder / "part1.csv", "pod,t,mem", "p,0,1073741824")
    written(folder / "part2.csv", "pod,t,mem", "q,0,2147483648")
    written(folder / "hosts.csv", "host|cores|ram", "n1|8|16")
    trace = imported(
        folder,
        """
        [jobs]
        files = "*.tsv"
        [jobs.columns]
        job_id = "id"
        duration_s = "secs"
        [usage]
        files = ["part*.csv"]
        [usage.columns]
        series_id = "pod"
        time_s = "t"
        memory_gib = { column = "mem", unit = "bytes" }
        [nodes]
        files = "hosts.csv"
        separator = "pipe"
        [nodes.columns]
        node_id = "host"
        cpu_cores = "cores"
        memory_gib = "ram"
        """,
    )
    assert check_usage(trace.usage).memory_gib.tolist() == [1.0, 2.0]
    assert check_nodes(trace.nodes).cpu_cores.tolist() == [8.0]
    assert len(trace.jobs) == 1


def test_a_table_exported_by_us_reads_back_without_a_mapping(jobs_csv: Path) -> None:
    first = imported(jobs_csv, MAPPING).jobs
    exported = jobs_csv.parent / "exported.csv"
    first.to_csv(exported, index=False)
    again = open_trace(exported).jobs
    pd.testing.assert_frame_equal(
        again.drop(columns="source"), first.drop(columns="source"), check_dtype=False
    )


def test_usage_metrics_of_our_own_read_back_and_text_is_left_out(tmp_path: Path) -> None:
    data = written(tmp_path / "u.csv", "series_id,time_s,watts,host", "a,0,1.5,n1", "a,1,2.5,n1")
    trace = open_trace(data, source="csv")
    assert check_usage(trace.usage).watts.tolist() == [1.5, 2.5]
    assert trace.report is not None
    assert "host left out" in trace.report.notes[0]


def test_of_foreign_columns_the_mapping_is_guessed_and_that_is_said(tmp_path: Path) -> None:
    # a job_id does not make the rest ours
    data = written(
        tmp_path / "log.csv",
        "job_id,owner,gpu_num,submit_time,duration,exit_code",
        *(f"{n},u{n % 3},{n % 4},2026-03-0{n} 10:00:00,{n * 60},{n % 2}" for n in range(1, 9)),
    )
    trace = open_trace(data, source="csv")
    assert trace.jobs.user.tolist()[:3] == ["u1", "u2", "u0"]
    assert trace.jobs.request_gpus.tolist()[:4] == [1, 2, 3, 0]
    assert trace.jobs.status.tolist()[:2] == ["failed", "completed"]
    assert trace.report is not None
    assert "guessed from their names" in trace.report.notes[0]
    assert "--guess > mapping.toml" in trace.report.notes[0]


def test_columns_that_tell_nothing_are_refused_with_the_way_out(tmp_path: Path) -> None:
    data = written(tmp_path / "x.csv", "colour,shape", "red,round", "blue,square")
    with pytest.raises(MissingColumnError, match="--guess"):
        open_trace(data, source="csv")


@pytest.mark.parametrize("form", ["lines", "list", "object"])
def test_records_in_json_are_a_table(tmp_path: Path, form: str) -> None:
    records = [
        {
            "jobId": n,
            "ask": {"gpu": n % 3, "memory": "4Gi"},
            "submittedAt": 1.7e12 + n,
            "runtime": n,
        }
        for n in range(1, 9)
    ]
    data = tmp_path / ("jobs.jsonl" if form == "lines" else "jobs.json")
    if form == "lines":
        data.write_text("\n".join(map(json.dumps, records)))
    else:
        data.write_text(json.dumps(records if form == "list" else {"jobs": records, "next": None}))
    jobs = open_trace(data).jobs
    assert jobs.request_gpus.tolist() == [n % 3 for n in range(1, 9)]
    assert jobs.request_memory_gib.tolist() == [4.0] * 8
    assert jobs.duration_s.tolist() == list(range(1, 9))


def test_a_damaged_line_of_json_is_named(tmp_path: Path) -> None:
    data = written(tmp_path / "jobs.jsonl", '{"job_id": 1, "duration_s": 5}', '{"job_id":')
    with pytest.raises(FormatError, match="line 2: is not JSON"):
        open_trace(data)


GOOD = '[jobs.columns]\njob_id = "nr"\n'


@pytest.mark.parametrize(
    ("mapping", "error", "words"),
    [
        ("[jobs.columns]\njob_id = nr", ParameterError, "not valid TOML.*line 2"),
        (
            '[job.columns]\njob_id = "nr"',
            ParameterError,
            "'job' is not a table.*'jobs'",
        ),
        ('[jobs]\nfile = "x"\n' + GOOD, ParameterError, "'file'. Did you mean 'files'"),
        ("[jobs]\nduration_s = 'secs'\n" + GOOD, ParameterError, r"Move it to \[jobs.columns\]"),
        ("[jobs]\nfiles = 'x'", ParameterError, r"maps no columns. Add \[jobs.columns\]"),
        ("", ParameterError, "maps nothing"),
        (GOOD + 'duration = "secs"', ParameterError, "duration: .*Did you mean 'duration_s'"),
        (GOOD + 'mem_gib = "mem_mb"', ParameterError, "mem_gib: the jobs table has no such column"),
        (
            GOOD + 'request_memory_gib = { column = "mem_mb", unit = "MBB" }',
            ParameterError,
            "request_memory_gib: unit 'MBB' cannot become GiB.*Known units: bytes",
        ),
        (
            GOOD + 'user = { column = "who", unit = "s" }',
            ParameterError,
            "user: unit 's' cannot become text.*leave the unit out",
        ),
        (
            GOOD + 'duration_s = { column = "secs", unit = "size" }',
            ParameterError,
            "unit 'size' cannot become s",
        ),
        (GOOD + 'duration_s = { colum = "secs" }', ParameterError, "duration_s: is .*Write"),
        (GOOD + 'duration_s = { column = "secs", x = 1 }', ParameterError, "does not know 'x'"),
        (GOOD + 'user = { column = "who", decimal = "," }', ParameterError, "decimal is ','"),
        (
            GOOD + 'duration_s = { column = "secs", decimal = ";" }',
            ParameterError,
            "decimal is ';'",
        ),
        (GOOD + 'duration_s = { constant = "one" }', ParameterError, "constant is 'one'.*a number"),
        (
            GOOD + 'submit_s = "queue"',
            MissingColumnError,
            "no column 'queue'.*'queued'",
        ),
        ("[jobs]\nattr = ['nope']\n" + GOOD, MissingColumnError, r"\[jobs\] attr: .*'nope'"),
        ("[jobs]\nattr = [1]\n" + GOOD, ParameterError, r"attr is \[1\]; write texts"),
        (GOOD + '[jobs.status]\nPass = "ok"', ParameterError, "Pass is 'ok'.*Known: completed"),
        ("[jobs]\nseparator = '::'\n" + GOOD, ParameterError, "separator is '::'"),
        ('clock = "sun"\n' + GOOD, ParameterError, "clock is 'sun'; it is one of"),
        ("[jobs]\nfiles = 7\n" + GOOD, ParameterError, "files is 7"),
    ],
)
def test_a_mistake_in_a_mapping_is_named_with_its_place(
    jobs_csv: Path, mapping: str, error: type[ProphaseError], words: str
) -> None:
    with pytest.raises(error, match=f"(?s){words}") as caught:
        imported(jobs_csv, mapping)
    assert "mapping.toml" in str(caught.value)


def test_a_mapping_that_is_not_there_is_named_with_the_way_to_make_one(jobs_csv: Path) -> None:
    with pytest.raises(MissingFileError, match=r"absent\.toml.*--guess"):
        open_trace(jobs_csv, source="csv", options={"map": "absent.toml"})


def guessed(data: Path) -> dict[str, object]:
    """Return the guess as a mapping, after proving that it can be imported as it is."""
    text = guess_mapping(data)
    imported(data, text)
    return tomllib.loads(text)


def test_a_realistic_header_is_guessed_and_imports_as_it_is(tmp_path: Path) -> None:
    data = written(
        tmp_path / "history.csv",
        "job_id,jobname,username,partition,queued_at,started_at,finished_at,walltime,elapsed,ngpu,"
        "ncpus,mem_mb,maxrss_kb,state,exit_code,batch_size,mystery",
        *(
            f"{n},train,u{n % 3},gpu,{1600000000 + n},{1600000060 + n},{1600000160 + n},3600,100,"
            f"{n % 4 + 1},8,16000,4194304,COMPLETED,0,32,x"
            for n in range(40)
        ),
    )
    jobs = guessed(data)["jobs"]
    assert jobs["columns"] == {  # type: ignore[index]
        "job_id": "job_id",
        "name": "jobname",
        "user": "username",
        "queue": "partition",
        "submit_s": {"column": "queued_at", "unit": "s"},
        "start_s": {"column": "started_at", "unit": "s"},
        "end_s": {"column": "finished_at", "unit": "s"},
        "duration_s": {"column": "elapsed", "unit": "s"},
        "status": "state",
        "request_cpu_cores": {"column": "ncpus", "unit": "cores"},
        "request_memory_gib": {"column": "mem_mb", "unit": "MB"},
        "request_gpus": {"column": "ngpu", "unit": "gpus"},
        "time_limit_s": {"column": "walltime", "unit": "s"},
        "memory_peak_gib": {"column": "maxrss_kb", "unit": "KB"},
    }
    assert jobs["attr"] == ["batch_size"]  # type: ignore[index]
    # what the name does not tell stays out of predictors' reach
    assert jobs["after"] == ["exit_code", "mystery"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("header", "cell", "target", "unit"),
    [
        ("submit_time", "1600000000123", "submit_s", "ms"),
        ("submit_time", "1600000000", "submit_s", "s"),
        ("created", "2021-05-01T00:00:00Z", "submit_s", "datetime"),
        ("submitted", "31.12.2021 10:00", "submit_s", "datetime dmy"),
        ("runtime_hours", "1.5", "duration_s", "h"),
        ("run_time_ms", "1500", "duration_s", "ms"),
        ("elapsed", "1-00:00:01", "duration_s", "hms"),
        ("ram", "17179869184", "request_memory_gib", "bytes"),
        ("memory_request", "16Gi", "request_memory_gib", "size"),
        ("req_mem_gb", "16", "request_memory_gib", "GB"),
        ("cpu_milli", "4000", "request_cpu_cores", "millicores"),
        ("plan_cpu", "600", "request_cpu_cores", "percent"),
        ("plan_gpu", "50", "request_gpus", "percent"),
        ("avg_gpu_util", "0.85", "gpu_util_mean_pct", "fraction"),
        ("avg_gpu_util", "85", "gpu_util_mean_pct", "percent"),
        ("gpu_util_pct", "0.85", "gpu_util_mean_pct", "fraction"),
        ("timelimit_min", "60", "time_limit_s", "min"),
        ("queue_time_sec", "12", "wait_s", "s"),
    ],
)
def test_the_unit_is_found_by_name_or_values(
    tmp_path: Path, header: str, cell: str, target: str, unit: str
) -> None:
    data = written(tmp_path / "t.csv", f"job_id,{header}", *(f"j{n},{cell}" for n in range(20)))
    columns = guessed(data)["jobs"]["columns"]  # type: ignore[index]
    assert columns[target] == {"column": header, "unit": unit}


def test_a_duration_that_is_end_minus_submit_is_not_taken_for_the_run_time(tmp_path: Path) -> None:
    rows = [f"{n},{n * 100},{n * 100 + 50},{n * 100 + 80},{80_000},{30_000}" for n in range(1, 50)]
    data = written(tmp_path / "t.csv", "job_id,submit,start,complete,duration,realtime", *rows)
    jobs = guessed(data)["jobs"]
    assert jobs["columns"]["duration_s"] == {"column": "realtime", "unit": "ms"}  # type: ignore[index]
    assert jobs["after"] == ["duration"]  # type: ignore[index]


def test_marker_values_become_words_for_unknown(tmp_path: Path) -> None:
    rows = [f"{n},{n}.5,{n}" for n in range(40)]
    data = written(tmp_path / "t.csv", "job_id,runtime,gpus", *rows, "40,-1,inf", "41,oops,2")
    jobs = guessed(data)["jobs"]
    assert set(jobs["missing"]) == {"-1", "inf", "oops"}  # type: ignore[index]


def test_series_and_node_lists_are_recognised_by_jobs(tmp_path: Path) -> None:
    usage = written(
        tmp_path / "u.csv", "pod,timestamp,cpu_usage_cores,mem_bytes", *(["p,1600000000,1,1e9"] * 9)
    )
    nodes = written(tmp_path / "n.csv", "hostname,cores,ram_gb,gpus", "a,8,64,0", "b,16,128,2")
    assert guessed(usage)["usage"]["columns"]["cpu_cores"]["column"] == "cpu_usage_cores"  # type: ignore[index]
    assert guessed(nodes)["nodes"]["columns"]["node_id"] == "hostname"  # type: ignore[index]


@pytest.mark.parametrize(
    ("head", "row", "target", "unit"),
    [
        ("pod,container_memory_working_set_bytes", "p,1e10", "memory_gib", "bytes"),
        ("container,pod_memory_usage_bytes", "p,1e10", "memory_gib", "bytes"),
        ("instance,DCGM_FI_DEV_FB_USED", "gpu-1,16000", "gpu_memory_gib", "MiB"),
        ("instance,DCGM_FI_DEV_GPU_UTIL", "gpu-1,87", "gpu_util_pct", "percent"),
    ],
)
def test_names_of_metrics_that_exporters_give_are_known(
    tmp_path: Path, head: str, row: str, target: str, unit: str
) -> None:
    data = written(tmp_path / "u.csv", f"timestamp,{head}", *([f"1600000000,{row}"] * 9))
    columns = guessed(data)["usage"]["columns"]  # type: ignore[index]
    series, metric = head.split(",")
    assert columns["series_id"] == series
    assert columns[target] == {"column": metric, "unit": unit}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            "run_id:u run_name:w experiment:w start_time:t status:s",
            "job_id:run_id name:run_name workload:experiment",
        ),
        (
            "dag_id:w task_id:v run_id:u start_date:t duration:n",
            "workload:dag_id task:task_id job_id:run_id",
        ),
        (
            "jobId:u jobName:w jobQueue:v createdAt:t vcpus:c",
            "queue:jobQueue request_cpu_cores:vcpus",
        ),
        ("JOBID:u STAT:s SLOTS:c SUBMIT_TIME:t", "status:STAT request_cpu_cores:SLOTS"),
        (
            "job:u qtime:t Resource_List.ncpus:c resources_used.walltime:n Exit_status:x",
            "submit_s:qtime request_cpu_cores:Resource_List.ncpus status:Exit_status "
            "duration_s:resources_used.walltime",
        ),
        ("ClusterId:u Cmd:w QDate:t ExitCode:x", "job_id:ClusterId submit_s:QDate task:Cmd"),
        ("job_number:u slots:c maxvmem:b ru_wallclock:n", "memory_peak_gib:maxvmem"),
        ("pod:p creation:t memory_max_usage_bytes:b", "job_id:pod name:pod"),
        ("pipeline:w step:v started:t success:s", "workload:pipeline task:step"),
        ("Job:u Start:t Allocated CPUs:c", "request_cpu_cores:Allocated CPUs"),
        ("Job:u Start:t accelerator:w gpus:c", "gpu_type:accelerator request_gpus:gpus"),
        ("Job:u Start:t accelerators:c", "request_gpus:accelerators"),
    ],
)
def test_exports_of_other_tools_are_understood(tmp_path: Path, columns: str, expected: str) -> None:
    cells = {
        "u": lambda n: n, "w": lambda n: "ab"[n % 2] + "-fit", "v": lambda n: f"s{'xyz'[n % 3]}",
        "t": lambda n: 1_700_000_000 + 60 * n, "n": lambda n: 30 + n, "c": lambda n: 1 + n % 4,
        "b": lambda n: 2**30 + n, "s": lambda n: "ok", "x": lambda n: n % 2,
        "p": lambda n: f"train-{n:05d}",
    }  # fmt: skip
    names = re.findall(r"\s?([^:]+):(\w)", columns)
    rows = [",".join(str(cells[kind](n)) for _, kind in names) for n in range(60)]
    data = written(tmp_path / "t.csv", ",".join(name for name, _ in names), *rows)
    found = guessed(data)["jobs"]["columns"]  # type: ignore[index]
    sources = {k: v["column"] if isinstance(v, dict) else v for k, v in found.items()}
    for target, column in re.findall(r"\s?(\w+):(\S+(?: CPUs)?)", expected):
        assert sources[target] == column


def test_a_success_of_one_is_no_exit_code(tmp_path: Path) -> None:
    rows = [f"{n},{60 + n},{n % 2}" for n in range(20)]
    data = written(tmp_path / "t.csv", "job_id,runtime_s,success", *rows)
    assert "status" not in guessed(data)["jobs"]["columns"]  # type: ignore[index]


def test_bare_time_limits_are_in_the_unit_that_run_times_keep_to(tmp_path: Path) -> None:
    rows = [f"{n},{n * 3000},{1440}" for n in range(1, 25)]
    data = written(tmp_path / "t.csv", "job_id,runtime_s,time_limit", *rows)
    columns = guessed(data)["jobs"]["columns"]  # type: ignore[index]
    assert columns["time_limit_s"] == {"column": "time_limit", "unit": "min"}


def line_for(target: str, text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{target} = "))


def test_a_bare_letter_behind_a_size_is_unsure_and_both_readings_are_named(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "id,req_memory", "a,16G", "b,512M")
    line = line_for("request_memory_gib", guess_mapping(data))
    assert 'unit = "size"' in line
    assert "unsure" in line
    assert "10^9 bytes" in line
    assert "GiB" in line
    assert "size binary" in line


@pytest.mark.parametrize(
    ("cells", "certainty"), [(("512Mi", "2Gi"), "sure"), (("16GB", "8 GB"), "likely")]
)
def test_a_size_is_as_sure_as_its_letters(
    tmp_path: Path, cells: tuple[str, str], certainty: str
) -> None:
    data = written(tmp_path / "t.csv", "id,peak_memory", *(f"{c},{c}" for c in cells))
    assert f"# {certainty}: " in line_for("memory_peak_gib", guess_mapping(data))


def test_a_bare_letter_means_gib_beside_states_of_slurm(tmp_path: Path) -> None:
    rows = "a,16G,COMPLETED", "b,512M,TIMEOUT"
    data = written(tmp_path / "t.csv", "id,req_memory,state", *rows)
    line = line_for("request_memory_gib", guess_mapping(data))
    assert 'unit = "size binary"' in line
    assert "TIMEOUT" in line


def test_a_bare_letter_means_gib_among_columns_of_slurm(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "JobIDRaw,ReqMem,MaxRSS", "1,16G,512M", "2,8G,2T")
    text = guess_mapping(data)
    assert "likely: powers of 1024, as in Slurm" in line_for("memory_peak_gib", text)
    jobs = imported(data, text).jobs.sort_values("job_id")
    assert jobs.request_memory_gib.tolist() == [16.0, 8.0]
    assert jobs.memory_peak_gib.tolist() == [0.5, 2048.0]


def test_percent_signs_are_read_as_numbers(tmp_path: Path) -> None:
    data = written(
        tmp_path / "jobs.csv",
        "id,submit,gpu_util,mystery rate",
        "a,0,55%,1.5 %",
        "b,1,0.5%,2%",
        "c,2,,0",
        *(f"d{n},3,7%,8%" for n in range(10)),
    )
    text = guess_mapping(data)
    assert "sure: written like '55%'" in line_for("gpu_util_mean_pct", text)
    jobs = imported(data, text).jobs.sort_values("job_id")
    assert jobs.gpu_util_mean_pct[:2].tolist() == [55.0, 0.5]
    assert jobs.after_mystery_rate_pct[:3].tolist() == [1.5, 2.0, 0.0]
    assert "unsure" in line_for(
        "cpu_mean_cores",
        guess_mapping(written(tmp_path / "u.csv", "job_id,submit,cpu_util", "a,0,55%", "b,1,60%")),
    )


def test_percent_signs_of_a_usage_table_are_read_as_numbers(tmp_path: Path) -> None:
    data = written(
        tmp_path / "usage.csv",
        "pod_id,timestamp,cpu_util,fan",
        *(f"p,{n},{n}%,{10 * n}%" for n in range(5)),
    )
    usage = imported(data, guess_mapping(data)).usage
    assert usage.cpu_util_pct.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert usage.fan_pct.tolist() == [0.0, 10.0, 20.0, 30.0, 40.0]


def test_decimal_commas_are_read_as_numbers(tmp_path: Path) -> None:
    data = written(
        tmp_path / "t.csv",
        "id;elapsed_s;peak_memory;price;load",
        "a;1,5;2,5 GiB;0,125;5,5 %",
        "b;3;0,5 GiB;12;6 %",
    )
    text = guess_mapping(data)
    assert 'decimal = ","' in line_for("duration_s", text)
    jobs = imported(data, text).jobs.sort_values("job_id")
    assert jobs.duration_s.tolist() == [1.5, 3.0]
    assert jobs.memory_peak_gib.tolist() == [2.5, 0.5]
    assert jobs.after_price.tolist() == [0.125, 12.0]
    assert jobs.after_load_pct.tolist() == [5.5, 6.0]


def test_a_point_among_decimal_commas_is_a_bad_row(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "id;secs", "a;1,5", "b;1.500")
    mapping = '[jobs.columns]\njob_id = "id"\nduration_s = { column = "secs", decimal = "," }'
    with pytest.raises(BadRowsError, match=r"line 3: secs is '1\.500'.*with a decimal comma"):
        imported(data, mapping)


def test_commas_that_may_stand_for_thousands_are_left_and_remarked(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", "id;mystery", "a;1,234", "b;999")
    text = guess_mapping(data)
    assert "# mystery stays text: its commas may be thousands or decimals" in text
    assert imported(data, text).jobs.sort_values("job_id").after_mystery.tolist() == [
        "1,234",
        "999",
    ]


def test_a_guess_takes_no_times_that_share_no_axis_with_the_others(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = [f"j{n},{n},{1_700_000_000 + n},60,{n % 7},{n % 5}" for n in range(40)]
    path.write_text("id,submit_delta,start,runtime_s,maxmem,rss_mb\n" + "\n".join(rows) + "\n")
    told = guess_mapping(path)
    assert "submit_s =" not in told
    assert 'start_s = { column = "start"' in told
    assert 'memory_peak_gib = { column = "maxmem"' in told
    assert 'memory_mean_gib = { column = "rss_mb"' in told


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,secs,secs\na,1,2\n", "the header names secs twice"),
        (b"id,secs\na,1\ncaf\xe9,2\n", "line 3.*not UTF-8 text.*iconv -f LATIN1 -t UTF-8"),
        ("id,secs\na,1\n".encode("utf-16"), "is UTF-16 text.*iconv -f UTF-16 -t"),
        ("id,secs\na,1\n".encode("utf-16-le"), "is UTF-16 text.*iconv -f UTF-16LE"),
        ("id,secs\na,1\n".encode("utf-16-be"), "is UTF-16 text.*iconv -f UTF-16BE"),
    ],
)
def test_a_guess_refuses_what_an_import_refuses_in_the_same_words(
    tmp_path: Path, content: bytes, words: str
) -> None:
    data = tmp_path / "x.csv"
    data.write_bytes(content)
    with pytest.raises(FormatError, match=words) as guess:
        guess_mapping(data)
    with pytest.raises(FormatError, match=words) as refused:
        imported(data, '[jobs.columns]\njob_id = "id"')
    assert str(guess.value) == str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (b"\x00\x01PAR1", "binary"), (b"a,b\n", "no row of that width")],
)
def test_a_file_that_cannot_be_guessed_says_why(tmp_path: Path, content: bytes, words: str) -> None:
    data = tmp_path / "x.csv"
    data.write_bytes(content)
    with pytest.raises(FormatError, match=words):
        guess_mapping(data)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows", "some"),
    [
        ("crux-lingjun/jobs.csv", 1257, {"submit_s": "arrival_s", "duration_s": "run_s"}),
        ("openb/openb_pod_list_default.csv", 8152, {"job_id": "name", "end_s": "deletion_time"}),
        (
            "nextflow/trace_eager.csv",
            1576,
            {"duration_s": "realtime", "memory_peak_gib": "peak_rss"},
        ),
        ("alibaba-dlrm2025/instances.csv.gz", 13379, {"start_s": "scheduled_time"}),
        ("ubccr-micro-slurm/real_outcomes_first250.psv", 250, {"duration_s": "Elapsed"}),
    ],
)
def test_real_files_are_guessed_and_import_with_all_rows(
    shared_data: Path, tmp_path: Path, name: str, rows: int, some: dict[str, str]
) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(guess_mapping(shared_data / name), encoding="utf-8")
    trace = open_trace(shared_data / name, source="csv", options={"map": str(mapping)})
    assert len(check_jobs(trace.jobs)) == rows
    columns = tomllib.loads(mapping.read_text(encoding="utf-8"))["jobs"]["columns"]
    found = {k: v["column"] if isinstance(v, dict) else v for k, v in columns.items()}
    assert some.items() <= found.items()


@pytest.mark.data
def test_the_guess_for_a_real_trace_gives_the_same_numbers_as_its_own_reader(
    shared_data: Path, tmp_path: Path
) -> None:
    data = shared_data / "crux-lingjun" / "jobs.csv"
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(guess_mapping(data), encoding="utf-8")
    guessed_jobs = open_trace(data, source="csv", options={"map": str(mapping)}).jobs
    own = open_trace(data, source="crux").jobs
    for column in ("job_id", "submit_s", "duration_s", "request_gpus"):
        pd.testing.assert_series_equal(guessed_jobs[column], own[column])


AIRFLOW = """dag_id,task_id,run_id,start_date,end_date,state,memory_request_mb,max_memory_mb
sales,extract,scheduled__2026-04-01,2026-04-01 02:00:00,2026-04-01 02:05:00,success,4096,512.7
sales,train,scheduled__2026-04-01,2026-04-01 02:10:00,2026-04-01 03:05:00,success,16384,9001.2
sales,extract,scheduled__2026-04-02,2026-04-02 02:00:00,2026-04-02 02:05:00,success,4096,520.1
"""


def test_a_table_of_task_instances_is_understood(tmp_path):
    (tmp_path / "tasks.csv").write_text(AIRFLOW)
    said = guess_mapping(tmp_path / "tasks.csv")
    for line in (
        'workload = "dag_id"', 'task = "task_id"', 'parent_id = "run_id"',
        'request_memory_gib = { column = "memory_request_mb", unit = "MiB" }',
        'memory_peak_gib = { column = "max_memory_mb", unit = "MiB" }',
    ):  # fmt: skip
        assert line in said
    assert 'unit = "MB"' in guess_mapping(_written(tmp_path, AIRFLOW.replace("4096", "4000")))


def _written(folder, text):
    (folder / "decimal.csv").write_text(text.replace("16384", "16000"))
    return folder / "decimal.csv"
