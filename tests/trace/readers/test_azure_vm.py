from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, MissingFileError
from prophase.trace.trace_tables import open_trace


def test_a_column_per_vm_becomes_a_series_per_vm(tmp_path: Path) -> None:
    (tmp_path / "cpu_avg.csv").write_text("step_300s,12,7\n1,5.5,\n2,6,1\n", encoding="utf-8")
    (tmp_path / "cpu_max.csv").write_text("step_300s,12,7\n1,9,2\n2,99,3\n", encoding="utf-8")
    usage = open_trace(tmp_path, source="azure-vm").usage
    assert usage["series_id"].tolist() == ["12", "12", "7", "7"]
    assert usage["time_s"].tolist() == [300.0, 600.0, 300.0, 600.0]
    assert usage["cpu_util_peak_pct"].tolist() == [9.0, 99.0, 2.0, 3.0]
    assert usage["cpu_util_pct"].tolist()[:2] == [5.5, 6.0]
    assert pd.isna(usage["cpu_util_pct"].iloc[2])


def test_one_file_alone_gives_one_metric(tmp_path: Path) -> None:
    (tmp_path / "cpu_max.csv").write_text("step_300s,12\n1,9\n", encoding="utf-8")
    usage = open_trace(tmp_path, source="azure-vm").usage
    assert list(usage) == ["series_id", "time_s", "cpu_util_peak_pct"]


def test_a_broken_cell_costs_one_sample_and_not_the_step_of_every_vm(tmp_path: Path) -> None:
    (tmp_path / "cpu_avg.csv").write_text("step_300s,1,2,3\n1,5,x,7\n", encoding="utf-8")
    assert len(open_trace(tmp_path, source="azure-vm", max_bad=0.5).usage) == 2
    with pytest.raises(BadRowsError, match="cpu_avg is not a number"):
        open_trace(tmp_path, source="azure-vm")


def test_other_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cpu_avg.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="step_300s"):
        open_trace(tmp_path, source="azure-vm")


@pytest.mark.data
def test_the_real_vms_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "azure-vm-cpu")
    usage = trace.usage
    assert trace.source == "azure-vm"
    assert len(usage) == 66 * 8004
    assert usage["series_id"].nunique() == 66
    assert usage[["cpu_util_pct", "cpu_util_peak_pct"]].notna().all().all()
    assert round(usage.groupby("series_id")["cpu_util_pct"].mean().median(), 1) == 7.3
    assert (usage["cpu_util_pct"] <= usage["cpu_util_peak_pct"] + 0.01).mean() > 0.99
