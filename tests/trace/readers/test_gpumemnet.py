from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import MissingColumnError
from prophase.trace.trace_tables import open_trace

HEADER = (
    "Filename,Depth,Activations-Params,Activation Function,Total Activations,Total Parameters,"
    "Batch Size,Max GPU Memory (MiB),Avg GPUTL,Avg GRACT,Avg SMACT,Avg SMOCC,Avg FP32A,"
    "Conv2d Count,Linear Count,Status\n"
)
NAME = (
    "input_channels:3_num_classes:231_depth:28_arch:residual_base_filters:83_batch:26_"
    "input_size:86_act:swish_dropout:0.25_dropout:True_batchnorm:False.out"
)


def read(folder: Path, *rows: str) -> pd.DataFrame:
    path = folder / "cnn_data_step1.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    return open_trace(path, source="gpumemnet").jobs


def test_columns_and_the_file_name_describe_the_network(tmp_path: Path) -> None:
    layers = "\"[('conv2d', 5, 3), ('linear', 2, 1)]\""
    job = read(
        tmp_path, f"{NAME},2,{layers},SiLU,7,4,26,2048,50,0.5,0.4,0.2,0.1,1,1,SUCCESSFUL"
    ).iloc[0]
    assert (job["workload"], job["status"]) == ("cnn", "completed")
    assert job["gpu_memory_peak_gib"] == 2.0
    assert job["attr_layers"] == "[('conv2d', 5, 3), ('linear', 2, 1)]"
    assert (job["attr_architecture"], job["attr_base_filters"]) == ("residual", 83.0)
    assert (job["attr_dropout_rate"], job["attr_dropout"]) == (0.25, "true")
    assert (job["attr_input_channels"], job["attr_input_size"]) == (3.0, 86.0)
    assert job["attr_batchnorm"] == "false"
    assert "attr_input_features" not in job, "a CNN has no number of input features"
    assert "duration_s" not in job or pd.isna(job["duration_s"])


def test_minus_one_is_not_measured_and_out_of_memory_has_its_own_status(tmp_path: Path) -> None:
    job = read(tmp_path, f"{NAME},2,\"[('a', 1, 1)]\",x,7,4,26,40000,-1,-1,-1,-1,0.1,1,1,OOM_CRASH")
    assert job["status"].tolist() == ["oom"]
    assert "gpu_util_mean_pct" not in job
    assert job["after_fp32_active_frac"].tolist() == [0.1]


def test_a_network_that_was_not_recorded_has_no_layers_rather_than_zero(tmp_path: Path) -> None:
    path = tmp_path / "cnn.csv"
    path.write_text(HEADER + f"{NAME},0,[],,0,0,26,0,0,0,0,0,0,0,0,SUCCESSFUL\n", encoding="utf-8")
    trace = open_trace(path, source="gpumemnet")
    assert trace.report is not None
    assert set(trace.report.tables["jobs"].repaired.values()) == {1}
    assert not {"attr_depth", "attr_total_parameters", "gpu_memory_peak_gib"} & set(trace.jobs)
    assert trace.jobs["attr_batch_size"].tolist() == [26.0]


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match="Filename"):
        open_trace(tmp_path, source="gpumemnet")


@pytest.mark.data
def test_the_real_runs_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "gpumemnet")
    jobs = trace.jobs
    assert trace.source == "gpumemnet"
    assert jobs.groupby("workload").size().to_dict() == {"cnn": 1442, "mlp": 2100}
    assert jobs["status"].value_counts().to_dict() == {"completed": 1187, "oom": 255}
    cnn = jobs[jobs["workload"] == "cnn"]
    assert cnn["gpu_util_mean_pct"].isna().mean() > 0.5
    mlp_mib = jobs.loc[jobs["workload"] == "mlp", "gpu_memory_peak_gib"] * 1024
    assert mlp_mib.median() == 1581.0
    assert jobs["gpu_memory_peak_gib"].min() > 1
