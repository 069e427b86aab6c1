from __future__ import annotations

import json
import sys

import pytest

from prophase.trace.workspace import Workspace

ALLOCATE = "held = bytearray(300 * 2**20); held[::4096] = b'x' * len(held[::4096])"


def test_a_command_is_logged_and_its_exit_code_kept(prophase, tmp_path):
    said = prophase("log", "--every", "1s", "--out", "u.csv", "--", "sh", "-c", "sleep 0.3; exit 5")
    assert said.returncode == 5
    assert "samples in u.csv" in said.stderr
    assert (tmp_path / "u.csv").read_text().startswith("series_id,time_s,")


def test_a_command_that_is_not_there_is_named(prophase_here):
    assert prophase_here("log", "--", "no-such-program").returncode == 127


def test_a_time_or_file_that_means_nothing_is_refused_first(prophase_here, tmp_path):
    assert "is not a duration" in prophase_here("log", "--every", "often", "--", "true").stderr
    said = prophase_here("log", "--out", "u.pdf", "--", "touch", "ran")
    assert ".parquet" in said.stderr
    assert not (tmp_path / "ran").exists()


def test_retry_lifts_the_memory_until_the_command_fits(prophase, tmp_path):
    command = [sys.executable, "-S", "-c", ALLOCATE]
    options = ["--memory", "100MiB", "--bins", "200MiB,600MiB", "--log", "tries.jsonl"]
    said = prophase("retry", *options, "--", *command)
    assert said.returncode == 0, said.stderr
    tries = [json.loads(line) for line in (tmp_path / "tries.jsonl").read_text().splitlines()]
    assert [one["status"] for one in tries] == ["oom", "oom", "completed"]
    assert [one["after_at_least_gib"] for one in tries] == [100 / 1024, 200 / 1024, None]
    assert "attempt 2 at 200 MiB: out of memory" in said.stderr


def test_what_retry_saw_is_imported_with_lower_bounds_for_killed_attempts(prophase_here, tmp_path):
    command = [sys.executable, "-S", "-c", ALLOCATE]
    options = ["--memory", "200MiB", "--bins", "600MiB", "--out", "tries.jsonl", "--task", "grow"]
    assert prophase_here("retry", *options, "--", *command).returncode == 0
    assert prophase_here("log", "--job-out", "tries.jsonl", "--", "true").returncode == 0
    said = prophase_here("import", "attempts", "tries.jsonl", "--workspace", "ws")
    assert said.returncode == 0, said.stderr
    jobs = Workspace(tmp_path / "ws").read("jobs").sort_values("submit_s")
    assert jobs["task"].tolist() == ["grow", "grow", "true"]
    assert jobs["status"].tolist() == ["oom", "completed", "completed"]
    assert jobs["after_end_cause"].tolist() == ["host_memory", "completed", "completed"]
    assert jobs["request_memory_gib"].iloc[0] == jobs["memory_peak_gib"].iloc[0] == 200 / 1024
    assert jobs["after_at_least_gib"].notna().tolist() == [True, False, False]
    assert jobs["memory_peak_gib"].iloc[1] == pytest.approx(300 / 1024, rel=0.05)
    assert jobs["after_memory_peak_error_gib"].notna().all()
    assert jobs["after_memory_method"].notna().all()


@pytest.mark.parametrize(
    ("says", "end", "cure"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.", "out of GPU memory", "smaller batch"),
        ("java.lang.OutOfMemoryError: Java heap space", "limit of its own", "java -Xmx"),
    ],
)
def test_memory_that_the_host_cannot_give_is_not_asked_for_again(prophase_here, says, end, cure):
    command = [sys.executable, "-S", "-c", f"import sys; sys.exit({says!r})"]
    said = prophase_here("retry", "--memory", "1GiB", "--", *command)
    assert said.returncode == 1
    assert "attempt 2" not in said.stderr
    assert end in said.stderr
    assert cure in said.stderr


def test_a_limit_of_its_own_that_follows_the_memory_is_lifted_with_it(prophase_here):
    code = 'ulimit -v $(awk "BEGIN {print int($PROPHASE_MEMORY_GIB * 1048576)}"); exec '
    code += f'{sys.executable} -S -c "held = bytearray(300 * 2**20)"'
    said = prophase_here("retry", "--memory", "200MiB", "--", "sh", "-c", code)
    assert said.returncode == 0, said.stderr
    assert 'at a memory limit of its own (it printed "MemoryError"); next 400 MiB' in said.stderr


def test_an_attempt_out_of_time_is_told_so(prophase_here):
    said = prophase_here("retry", "--attempt-time-limit", "200ms", "--", "sleep", "600")
    assert said.returncode == 124
    assert "out of time (not finished after 0.2 s); not run again. Ask for more time" in said.stderr


def test_retry_stops_at_the_most_memory_and_at_other_failures(prophase_here):
    command = [sys.executable, "-S", "-c", ALLOCATE]
    said = prophase_here("retry", "--memory", "100MiB", "--most", "150MiB", "--", *command)
    assert said.returncode == 137
    assert "no more attempts or memory are allowed" in said.stderr
    assert prophase_here("retry", "--", "sh", "-c", "exit 4").returncode == 4


def test_retry_takes_its_requests_from_the_advice_for_the_task(prophase_here, tmp_path):
    rows = [{"task": "grow", "advice": 0.1, "2nd": 0.3}, {"task": "other", "advice": 1.0}]
    (tmp_path / "advice.json").write_text(json.dumps({"resource": "memory", "tasks": rows}))
    command = [sys.executable, "-S", "-c", "x = bytearray(180 * 2**20)"]
    advice = ["retry", "--recommendation", "advice.json"]
    said = prophase_here(*advice, "--task", "grow", "--", *command)
    assert said.returncode == 0, said.stderr
    assert "attempt 1 at 102 MiB: out of memory" in said.stderr
    assert "next 307 MiB" in said.stderr
    assert "say which with --task" in prophase_here(*advice, "--", *command).stderr
    both = prophase_here(*advice, "--request", "1GiB", "--", *command)
    assert (both.returncode, "not both" in both.stderr) == (2, True)
