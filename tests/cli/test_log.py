from __future__ import annotations

import json
import sys

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
    assert [one["at_least_gib"] for one in tries] == [100 / 1024, 200 / 1024, None]
    assert "attempt 2 at 200 MiB: out of memory" in said.stderr


def test_retry_stops_at_the_most_memory_and_at_other_failures(prophase_here):
    command = [sys.executable, "-S", "-c", ALLOCATE]
    said = prophase_here("retry", "--memory", "100MiB", "--most", "150MiB", "--", *command)
    assert said.returncode == 1
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
