from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import FanOutError, MissingFileError
from prophase.trace.trace_tables import open_trace

VMS = (
    "id,start_time,stop_time,cpu_count,cpu_capacity,mem_capacity\n"
    "5,2013-08-12 13:00:00,2013-08-12 14:00:00,4,10400,2097152\n"
)
SERIES = (
    "id,timestamp,duration_ms,cpu_count,cpu_usage_mhz\n"
    "5,2013-08-12 13:05:00,300000,4,2600\n"
    "5,2013-08-12 13:20:00,900000,0,0\n"
    "6,2013-08-12 13:05:00,300000,1,50\n"
)


def test_use_in_mhz_becomes_cores_of_that_vm(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(VMS, encoding="utf-8")
    (tmp_path / "cpu_series.csv").write_text(SERIES, encoding="utf-8")
    trace = open_trace(tmp_path, source="bitbrains")
    vm = trace.jobs.iloc[0]
    assert (vm["duration_s"], vm["request_cpu_cores"], vm["request_memory_gib"]) == (3600, 4, 2)
    usage = trace.usage
    assert usage["cpu_cores"].tolist()[:2] == [1.0, 0.0]
    assert usage["cpu_util_pct"].tolist()[:2] == [25.0, 0.0]
    assert usage["step_s"].tolist() == [300.0, 900.0, 300.0]
    assert usage["time_s"].iloc[0] == vm["start_s"] + 300, "a sample stands at its end"
    assert usage["cpu_cores"].isna().tolist() == [False, False, True], "VM 6 has no known size"
    assert trace.report is not None
    assert trace.report.tables["usage"].joined == {"vms": 2}


def test_a_series_alone_stays_in_mhz_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "cpu_series.csv").write_text(SERIES, encoding="utf-8")
    trace = open_trace(tmp_path, source="bitbrains")
    assert "cpu_cores" not in trace.usage
    assert trace.usage["cpu_mhz"].tolist() == [2600.0, 0.0, 50.0]
    assert trace.report is not None
    assert "stays in MHz" in trace.report.notes[0]


def test_a_vm_listed_twice_is_refused_instead_of_doubling_its_samples(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(VMS + VMS.splitlines()[1] + "\n", encoding="utf-8")
    (tmp_path / "cpu_series.csv").write_text(SERIES, encoding="utf-8")
    with pytest.raises(FanOutError, match="series_id"):
        open_trace(tmp_path, source="bitbrains")


def test_other_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="neither a table of VMs"):
        open_trace(tmp_path, source="bitbrains")


@pytest.mark.data
def test_the_real_vms_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "bitbrains-small")
    jobs, usage = trace.jobs, trace.usage
    assert trace.source == "bitbrains"
    assert (len(jobs), len(usage)) == (33, 190_983)
    assert set(usage["series_id"]) == set(jobs["job_id"])
    cores = jobs.set_index("job_id")["request_cpu_cores"]
    share = usage.groupby("series_id")["cpu_cores"].max() / cores
    assert share.max() == pytest.approx(1.0566, abs=1e-3), "capacity is of all cores together"
    assert round((usage["step_s"] > 300).mean(), 2) == 0.13
