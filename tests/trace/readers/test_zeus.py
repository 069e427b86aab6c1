from __future__ import annotations

from pathlib import Path

import pytest

from prophase.trace import open_trace


def test_measurements_become_side_tables_with_the_gpu_type_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "summary_train.csv").write_text(
        "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch\n"
        "cifar100,shufflenetv2,1024,adam,1e-1,1,0.05,3\n"
        "cifar100,shufflenetv2,1024,adam,1e-1,1,0.90,\n"
    )
    for gpu, seconds in (("v100", 11.5), ("p100", 20.5)):
        (tmp_path / f"summary_power_{gpu}.csv").write_text(
            "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
            f"cifar100,shufflenetv2,1024,adam,100,{seconds},90\n"
        )
    tables = open_trace(tmp_path, source="zeus").tables
    assert tables["epochs_to_target"].target_epoch.isna().tolist() == [False, True]
    speed = tables["time_per_epoch"].set_index("gpu_type").time_per_epoch_s
    assert speed.to_dict() == {"v100": 11.5, "p100": 20.5}


@pytest.mark.data
def test_849_runs_did_not_reach_their_target(shared_data: Path) -> None:
    tables = open_trace(shared_data / "zeus-dl", source="zeus").tables
    assert tables["epochs_to_target"].target_epoch.isna().sum() == 849
    rows = tables["time_per_epoch"].groupby("gpu_type").size()
    assert rows.to_dict() == {"v100": 476, "p100": 270, "rtx6000": 410}
