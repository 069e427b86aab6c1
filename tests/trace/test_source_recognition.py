"""What strangers bring is recognised, or refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journeys.raw_exports import write_sacct

from prophase.errors import ParameterError, ProphaseError
from prophase.study.pipeline import run_study
from prophase.study.plan import StudyPlan
from prophase.trace.source_recognition import recognise_source, traces_in
from prophase.trace.trace_tables import open_trace

_LOG = "; UnixStartTime: {start}\n1 0 5 60 4 -1 -1 4 120 -1 1 3 2 -1 1 -1 -1 -1\n"


def test_logs_of_two_clusters_are_two_traces_and_parts_of_one_are_one(tmp_path: Path) -> None:
    for name, start in (("kth.part1", 843e6), ("kth.part2", 844e6), ("theta", 1640e6)):
        (tmp_path / f"{name}.swf").write_text(_LOG.format(start=int(start)))
    found = traces_in(tmp_path, "swf")
    assert {name: len(paths) for name, paths in found.items()} == {"swf kth": 2, "swf theta": 1}
    with pytest.raises(ProphaseError, match=r"several traces: .*kth.*theta.*--source swf") as told:
        run_study(StudyPlan(str(tmp_path)))
    assert "step import" not in str(told.value)


def test_what_sacct_prints_for_people_is_refused_with_the_command_to_use(tmp_path: Path) -> None:
    printed = tmp_path / "jobs.txt"
    printed.write_text("JobID      JobName  Partition\n---------- -------- ------\n1  a  b\n")
    with pytest.raises(ParameterError, match="sacct -aDP"):
        recognise_source(printed, ["jobs"])


def test_dumps_of_sacct_are_read_together_whatever_their_names(tmp_path: Path) -> None:
    lines = write_sacct(tmp_path / "all.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "all.txt").unlink()
    # a job and its two steps are three lines
    (tmp_path / "january.txt").write_text("\n".join(lines[:301]) + "\n", encoding="utf-8")
    rest = [lines[0], *lines[301:601]]
    (tmp_path / "february.txt").write_text("\n".join(rest) + "\n", encoding="utf-8")
    assert recognise_source(tmp_path, ["jobs"])[0] == "sacct"
    assert len(open_trace(tmp_path).jobs) == 200


@pytest.mark.parametrize(
    ("header", "peak"),
    [
        ("Auftrag;Benutzer;Laufzeit (h);Speicher angefordert (GB);Speicher max (GB)", "sure"),
        ("job;user;runtime (h);requested memory (GB);rss (GB)", "unsure"),
    ],
    ids=["German", "one number of memory"],
)
def test_the_highest_use_of_memory_is_found(header: str, peak: str, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [f"{number};ann;1,5;32;{number % 7},5" for number in range(20)]
    table.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    _, mapping = recognise_source(table, ["jobs"])
    assert mapping is not None
    line = next(line for line in mapping.splitlines() if line.startswith("memory_peak_gib"))
    assert ("taken as the peak" in line) == (peak == "unsure")
    for column in ("job_id", "user", "duration_s", "request_memory_gib"):
        assert f"\n{column} = " in mapping


@pytest.mark.parametrize("ends", ["\n", "\r\n", "mixed"])
def test_a_table_of_ones_own_with_ids_and_states_as_slurm_names_them(
    tmp_path: Path, ends: str
) -> None:
    header = "JobID,Job Name,version,Submitted,Seconds,Mem Requested GiB,Peak Mem GiB,State"
    rows = [f"{n},train,v1,{1.7e9 + 7200 * n:.0f},1800,8,2.{n},completed" for n in range(9)]
    # a header that was edited on another system than the one that wrote the rows
    first, later = ("\n", "\r\n") if ends == "mixed" else (ends, ends)
    file = tmp_path / "jobs.csv"
    file.write_bytes((header + first + later.join([*rows, ""])).encode())
    jobs = open_trace(file, tables=["jobs"]).jobs
    assert len(jobs) == 9
    assert jobs["memory_peak_gib"].max() == pytest.approx(2.8)
    assert set(jobs["attr_version"]) == {"v1"}
