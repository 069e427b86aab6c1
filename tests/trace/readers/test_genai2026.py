from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import BadRowsError, MissingFileError, ParameterError
from prophase.trace.trace_tables import Trace, open_trace


def write(folder: Path, *, duty: str = "", memory: str = "", util: str = "") -> Path:
    for name, rows in (
        ("pod_gpu_duty_cycle", duty),
        ("pod_gpu_memory_used_bytes", memory),
        ("pod_memory_util", util),
    ):
        if rows:
            text = "value,timestamp_anon,container_ip\n" + rows.replace(" ", "\n") + "\n"
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, **options: str) -> Trace:
    return open_trace(folder, source="genai2026", options=options)


def test_metrics_meet_within_half_a_step_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        duty="10,1000,a 20,1057,a 30,1114,a",
        memory="1073741824,1003,a 2147483648,1140,a",
        util="0.5,1060,a 0.25,5000,b",
    )
    trace = read(folder)
    usage = trace.usage.fillna(-1)
    assert usage["series_id"].tolist() == ["a", "a", "a", "b"]
    assert usage["gpu_util_pct"].tolist() == [10, 20, 30, -1]
    assert usage["gpu_memory_gib"].tolist() == [1, -1, 2, -1]
    assert usage["memory_util_frac"].tolist() == [-1, 0.5, -1, 0.25]
    assert usage["time_s"].tolist() == [1000, 1057, 1114, 5000]
    assert trace.report is not None
    assert trace.report.tables["usage"].joined == {
        "pod_gpu_duty_cycle": 3,
        "pod_gpu_memory_used_bytes": 2,
        "pod_memory_util": 2,
    }


def test_samples_of_one_step_are_averaged_and_counted(tmp_path: Path) -> None:
    trace = read(write(tmp_path, util="0.5,1000,a 0.7,1000,a"))
    assert trace.usage["memory_util_frac"].tolist() == [pytest.approx(0.6)]
    assert trace.report is not None
    assert trace.report.tables["usage"].repaired == {
        "several samples of a metric in one step, averaged": 1
    }
    assert len(read(write(tmp_path, util="0.5,1000,a 0.7,1010,a"), step_s="10").usage) == 2


def test_noise_below_zero_is_mended_but_a_real_negative_is_damage(tmp_path: Path) -> None:
    trace = read(write(tmp_path, util="-0.0000001,1000,a 0.5,1057,a"))
    assert trace.usage["memory_util_frac"].tolist() == [0.0, 0.5]
    assert trace.report is not None
    assert trace.report.tables["usage"].repaired == {"value just below zero, set to 0": 1}
    with pytest.raises(BadRowsError, match="memory_util_frac is negative"):
        read(write(tmp_path, util="-0.5,1000,a"))


def test_samples_without_a_pod_are_left_out_one_by_one(tmp_path: Path) -> None:
    trace = read(write(tmp_path, util="0.5,1000,a 0.1,1000, 0.2,1000,", duty="7,1000,"))
    assert trace.report is not None
    assert trace.report.tables["usage"].dropped == {"sample without a pod": 3}
    assert len(trace.usage) == 1


def test_one_file_alone_is_read_and_the_others_are_noted_as_absent(tmp_path: Path) -> None:
    folder = write(tmp_path, duty="10,1000,a")
    for path in (folder, folder / "pod_gpu_duty_cycle.csv"):
        trace = read(path)
        assert trace.report is not None
        assert "2 metrics stay missing" in trace.report.notes[0]


def test_wrong_options_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="step_s=soon"):
        read(write(tmp_path, duty="10,1000,a"), step_s="soon")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="holds none of"):
        read(other)


@pytest.mark.data
def test_every_real_sample_is_accounted_for(shared_data: Path) -> None:
    trace = open_trace(shared_data / "genai2026")
    assert trace.source == "genai2026"
    assert trace.report is not None
    count = trace.report.tables["usage"]
    assert count.dropped == {"sample without a pod": 49}
    assert count.joined["pod_gpu_duty_cycle"] == 103_789
    assert count.joined["pod_gpu_memory_used_bytes"] == 107_032
    averaged = count.repaired["several samples of a metric in one step, averaged"]
    assert count.joined["pod_memory_util"] + averaged + 49 == 140_290
    usage = trace.usage
    assert not usage.duplicated(["series_id", "time_s"]).any()
    assert usage["gpu_util_pct"].max() <= 100
    assert usage["memory_util_frac"].max() <= 1
    steps = usage.groupby("series_id")["time_s"].diff().dropna()
    assert steps.median() == 57.0
