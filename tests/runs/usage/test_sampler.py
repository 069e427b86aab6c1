from __future__ import annotations

import json
import os

from prophase.runs.usage.peak_memory import SampledMeter
from prophase.runs.usage.sampler import DurableLines, TreeSampler


def test_lines_wait_for_space_and_none_is_lost(tmp_path, monkeypatch):
    lines = DurableLines(tmp_path / "lines.jsonl")
    lines.add({"n": 1})
    real, full = os.write, [True]
    monkeypatch.setattr(
        os, "write", lambda file, data: real(file, data[: len(data) // 2] if full[0] else data)
    )
    lines.add({"n": 2})
    lines.add({"n": 3})
    assert lines.waiting == 2
    assert lines.refused is not None
    full[0] = False
    lines.add({"n": 4})
    lines.close()
    rows = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert [row["n"] for row in rows] == [1, 2, 3, 4]


def test_half_a_line_of_a_killed_writer_does_not_spoil_the_next(tmp_path):
    (tmp_path / "lines.jsonl").write_text('{"n": 1}\n{"n": ')
    lines = DurableLines(tmp_path / "lines.jsonl")
    lines.add({"n": 3})
    lines.close()
    assert (tmp_path / "lines.jsonl").read_text().splitlines()[-1] == '{"n": 3}'


def own_sampler(**options):
    def own():
        return [os.getpid()]

    return TreeSampler(own, SampledMeter(own, fresh=False), **options)


def test_peaks_from_before_the_log_are_not_counted():
    big = bytearray(80 * 2**20)
    big[::4096] = b"x" * len(big[::4096])
    del big
    before = own_sampler().sample()
    assert before["memory_peak_gib"] - before["memory_gib"] < 0.01
    assert before["memory_peak_error_gib"] < 0.01
    assert before["processes"] == 1


def test_gpu_use_is_that_of_the_tree():
    class Gpus:
        def use(self, pids):
            assert os.getpid() in pids
            return {"gpu_memory_gib": 3.0, "gpu_util_pct": 50.0}

    sample = own_sampler(gpus=Gpus()).sample()
    assert (sample["gpu_memory_gib"], sample["gpu_util_pct"]) == (3.0, 50.0)
