"""What `prophase fetch` brings is read as its owner publishes it."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import MissingFileError
from prophase.trace import open_trace

_USER = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="
_NAME = "IHgtoxEBuUTHNbUeVs4hzptMY4n8rZKLbZg+Jh5fNG4="
_LOGICAL = "wAmgn2H74cdoMuSFwJF3NaUEaudVBTZ0/HaNZBwIpEQ="
_VM = "71fJw0x+SbRdAxKPwLHHZhTgQpOYf2vE1SMKCvaqKLWHJ7sBGhMzF4oyXOqPTHDX"


def _packed(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


@pytest.fixture
def google(tmp_path: Path) -> Path:
    def event(time: int, job: int, kind: int) -> str:
        return f"{time},,{job},{kind},{_USER},3,{_NAME},{_LOGICAL}"

    events = tmp_path / "job_events"
    _packed(
        events / "part-00000-of-00500.csv.gz",
        event(0, 1, 0), event(0, 1, 1), event(600_000_000, 2, 0), event(610_000_000, 2, 1),
    )  # fmt: skip
    _packed(
        events / "part-00001-of-00500.csv.gz",
        event(700_000_000, 2, 8), event(910_000_000, 2, 4), event(990_000_000, 3, 0),
    )  # fmt: skip
    _packed(
        tmp_path / "machine_events" / "part-00000-of-00001.csv.gz",
        "0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493",
        "800000000,5,1,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,,",
    )
    return tmp_path


def test_events_of_google_become_jobs_with_waits_and_ends(google: Path) -> None:
    trace = open_trace(google)
    assert trace.source == "google2011"
    jobs = trace.jobs.set_index("job_id")
    two = jobs.loc["2"]
    assert list(two[["submit_s", "wait_s", "duration_s"]]) == [600, 10, 300]
    assert (two["status"], two["user"], two["group"]) == ("completed", _USER, _LOGICAL)
    assert jobs.loc["3", "status"] == "pending"
    one = jobs.loc["1"]
    assert one["status"] == "running"
    assert pd.isna(one["submit_s"])  # 0 is before the trace
    assert list(trace.nodes["attr_cpu_frac"]) == [0.5]


def test_tasks_say_what_a_job_of_google_asks_for(google: Path) -> None:
    task = f"600000000,,2,{{}},,0,{_USER},3,9,0.125,0.07446,0.0004244,0"
    part = google / "task_events" / "part-00000-of-00500.csv.gz"
    _packed(part, task.format(0), task.format(1))
    usage = google / "task_usage" / "part-00000-of-00500.csv.gz"
    row = "600000000,900000000,2,0,5,0.0125,0.06,0.07,0,0,0.08,0,0,0.25,0,2.9,0.009,0,1,0.01"
    _packed(usage, row)
    trace = open_trace(google)
    two = trace.jobs.set_index("job_id").loc["2"]
    assert list(two[["instances", "priority", "attr_request_cpu_pct"]]) == [2, 9, 12.5]
    assert list(trace.usage["series_id"]) == ["2-0"]
    assert list(trace.usage["ram_peak_frac"]) == [0.08]
    with pytest.raises(MissingFileError, match="fetch job_events too"):
        open_trace(part, source="google2011")


def test_vms_and_readings_of_azure_become_jobs_and_series(tmp_path: Path) -> None:
    vm = f"{_VM},{_VM},{_VM},0,2591700,99.36,3.42,10.19,Delay-insensitive,{{}},{{}}"
    _packed(tmp_path / "vmtable.csv.gz", vm.format("4", "32"), vm.format(">24", ">64") + "")
    _packed(tmp_path / "vm_cpu_readings-file-1-of-195.csv.gz", f"0,{_VM},19.0,22.0,20.5")
    _packed(tmp_path / "vm_cpu_readings-file-2-of-195.csv.gz", f"300,{_VM},1.0,3.0,2.0")
    trace = open_trace(tmp_path)
    assert trace.source == "azure-vm"
    small, large = (row for _, row in trace.jobs.sort_values("request_cpu_cores").iterrows())
    assert list(small[["request_cpu_cores", "request_memory_gib", "duration_s"]]) == [
        4,
        32,
        2591700,
    ]
    assert small["cpu_peak_cores"] == pytest.approx(3.9744)
    assert pd.isna(large["request_cpu_cores"])
    assert large["attr_cores_bucket"] == ">24"
    assert list(trace.usage["cpu_util_pct"]) == [20.5, 2.0]


def test_files_of_bitbrains_become_vms_with_memory(tmp_path: Path) -> None:
    header = (
        "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];"
        "\tCPU usage [%];\tMemory capacity provisioned [KB];\tMemory usage [KB];"
        "\tDisk read throughput [KB/s];\tDisk write throughput [KB/s];"
        "\tNetwork received throughput [KB/s];\tNetwork transmitted throughput [KB/s]\n"
    )
    row = "{};\t4;\t11704.0;\t2926.0;\t25.0;\t8388608.0;\t{};\t1.0;\t2.0;\t3.0;\t0.5\n"
    with zipfile.ZipFile(tmp_path / "rnd.zip", "w") as archive:
        archive.writestr("rnd/2013-7/1.csv", header + row.format(1372629804, 1048576.0))
        archive.writestr("rnd/2013-8/1.csv", header + row.format(1375308204, 2097152.0))
        archive.writestr("rnd/2013-8/2.csv", header + row.format(1375308204, 0.0))
    trace = open_trace(tmp_path, source="bitbrains")
    jobs = trace.jobs.set_index("job_id")
    assert list(jobs.index) == ["rnd/1", "rnd/2"]
    one = jobs.loc["rnd/1"]
    assert list(one[["request_cpu_cores", "request_memory_gib", "memory_peak_gib"]]) == [4, 8, 2]
    assert one["duration_s"] == 1375308204 - 1372629804 + 300
    assert list(trace.usage["cpu_cores"]) == [1, 1, 1]
    assert list(trace.usage["write_bytes_per_s"]) == [2048] * 3
    folder = tmp_path / "unpacked"
    zipfile.ZipFile(tmp_path / "rnd.zip").extractall(folder)
    assert open_trace(folder).source == "bitbrains"  # recognised by its header
