from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingColumnError
from prophase.trace.readers.containers import ORIGINAL_FEATURES
from prophase.trace.trace_tables import open_trace

HEADER = (
    "timestamp,service,pod.id,cpu.num.cores,cpu.usage,cpu.usage.cores,cpu.usage.pct,"
    "cpu.usage.pct.container.requested,mem.current,mem.limit,mem.usage.pct,mem.working.set\n"
)
ROW = "1565962220,s1,e1,4,756911788,0.5,12.5,25,2147483648,4294967296,25,1073741824\n"


def original_features(usage: pd.DataFrame) -> pd.DataFrame:
    """Turn samples back into the published names and scales."""
    return pd.DataFrame(
        {
            name: usage[metric] / factor
            for name, (metric, factor) in ORIGINAL_FEATURES.items()
            if metric in usage
        }
    )


def test_samples_get_units_and_turn_back_into_the_published_features(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text(HEADER + ROW, encoding="utf-8")
    usage = open_trace(tmp_path, source="containers").usage
    sample = usage.iloc[0]
    assert sample["series_id"] == "s1/e1"
    assert (sample["cpu_cores"], sample["memory_gib"], sample["memory_limit_gib"]) == (0.5, 1, 4)
    assert sample["memory_util_frac"] == 0.25
    back = original_features(usage).iloc[0]
    names = HEADER.strip().split(",")[3:]
    assert back[names].tolist() == [float(cell) for cell in ROW.strip().split(",")[3:]]


def test_a_row_number_without_a_name_is_recognised_and_noted(tmp_path: Path) -> None:
    (tmp_path / "vr.csv").write_text(HEADER + "1," + ROW + "2," + ROW, encoding="utf-8")
    trace = open_trace(tmp_path, source="containers")
    assert trace.usage["cpu_cores"].tolist() == [0.5, 0.5]
    assert trace.report is not None
    assert "the first field is a row number" in trace.report.notes[0]


def test_a_copy_of_a_file_is_read_once_and_noted(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(HEADER + ROW, encoding="utf-8")
    (tmp_path / "c.csv").write_text(HEADER + ROW.replace("e1", "e2"), encoding="utf-8")
    trace = open_trace(tmp_path, source="containers")
    assert trace.usage["series_id"].tolist() == ["s1/e1", "s1/e2"]
    assert trace.report is not None
    assert trace.report.notes == ("b.csv is a copy of a.csv, byte for byte: read once.",)


def test_without_a_service_the_execution_alone_names_the_series(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "timestamp,pod.id,cpu.usage.cores,mem.working.set\n10,e1,1.5,1073741824\n", encoding="utf-8"
    )
    usage = open_trace(tmp_path, source="containers").usage
    assert usage["series_id"].tolist() == ["e1"]
    assert list(original_features(usage)) == ["cpu.usage.cores", "mem.working.set"]


def test_tables_without_containers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match=r"none of x\.csv has the columns"):
        open_trace(tmp_path, source="containers")


@pytest.mark.data
def test_the_real_samples_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "ai4dl")
    usage = trace.usage
    assert trace.source == "containers"
    assert usage.groupby("series_id").size().to_dict() == {
        "service1/exec1": 65, "service1/exec2": 52, "service1/exec3": 59, "service1/exec4": 28,
        "service2/exec2": 2286,
    }  # fmt: skip
    assert trace.report is not None
    assert any("sample.csv is a copy of sample-dlaas.csv" in note for note in trace.report.notes)
    original = pd.read_csv(shared_data / "ai4dl" / "sample-dlaas.csv")
    ours = usage[usage["series_id"] == "service1/exec1"]
    back = original_features(ours)
    published = original[original["pod.id"] == "exec1"]
    for name in ORIGINAL_FEATURES:
        np.testing.assert_allclose(back[name], published[name], rtol=1e-15)
