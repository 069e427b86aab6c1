from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from prophase.errors import FormatError, MissingFileError, ParameterError, StorageError
from prophase.runs.usage.usage_log import read_usage, run_logged


def test_a_command_leaves_a_table_of_its_usage(tmp_path):
    ending = run_logged(["sleep", "0.5"], tmp_path / "usage.parquet")
    usage = read_usage(tmp_path / "usage.parquet")
    assert ending.exit_code == 0
    assert set(usage["series_id"]) == {"sleep"}
    assert {"time_s", "cpu_cores", "memory_gib", "threads"} <= set(usage.columns)
    assert not (tmp_path / "usage.parquet.part").exists()


HOLDING = """
from prophase.runs.usage.usage_log import log_usage

def hold(mib):
    held = bytearray(mib * 2**20)
    held[::4096] = b"x" * len(held[::4096])

hold(200)
with log_usage("usage.csv", every_s=5):
    hold(100)
"""


def test_a_block_of_python_is_logged_with_its_peak_also_below_an_earlier_one(tmp_path):
    # a process of its own: what other tests hold or give back would count as well
    subprocess.run([sys.executable, "-c", HOLDING], cwd=tmp_path, check=True)
    usage = read_usage(tmp_path / "usage.csv")
    risen = usage["memory_peak_gib"].max() - usage["memory_gib"].iloc[0]
    assert risen == pytest.approx(100 / 1024, rel=0.1)


def test_a_killed_program_leaves_what_was_sampled(tmp_path):
    code = (
        "import os, sys; from prophase.runs.usage.usage_log import log_usage\n"
        "with log_usage(sys.argv[1], every_s=0.1):\n    os.kill(os.getpid(), 9)"
    )
    out = tmp_path / "usage.parquet"
    run = subprocess.run([sys.executable, "-c", code, str(out)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert len(read_usage(tmp_path / "usage.parquet.part")) >= 1


def test_a_file_name_of_another_format_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(ParameterError, match=r"\.parquet, \.csv, \.jsonl"):
        run_logged(["touch", str(tmp_path / "ran")], tmp_path / "usage.xlsx")
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match="no such file or folder"):
        run_logged(["true"], tmp_path / "no" / "usage.csv")


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match="prophase log"):
        read_usage(tmp_path / "none.parquet")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="no samples"):
        read_usage(tmp_path / "other.csv")
