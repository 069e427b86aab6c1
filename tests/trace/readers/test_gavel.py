from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FormatError
from prophase.trace import open_trace

ROWS = """worker,job,colocated_with,steps_per_s,other_steps_per_s
v100,"('ResNet-18 (batch size 16)', 2)",,35.5,
v100_unconsolidated,"('CycleGAN', 1)","('LM (batch size 5)', 1)",0,2.5
"""


def test_speeds_are_taken_apart_and_zero_means_not_measured(tmp_path: Path) -> None:
    (tmp_path / "throughputs.csv").write_text(ROWS)
    alone, shared = open_trace(tmp_path, source="gavel").tables["throughput"].to_dict("records")
    assert (alone["gpu_type"], alone["consolidated"], alone["model"]) == ("v100", True, "ResNet-18")
    assert (alone["batch_size"], alone["gpus"], alone["steps_per_s"]) == (16, 2, 35.5)
    assert pd.isna(alone["partner_model"])
    assert (shared["consolidated"], shared["model"]) == (False, "CycleGAN")
    assert pd.isna(shared["batch_size"])
    assert pd.isna(shared["steps_per_s"])
    assert (shared["partner_model"], shared["partner_steps_per_s"]) == ("LM", 2.5)


def test_the_published_json_gives_the_same_table_as_its_flat_copy(tmp_path: Path) -> None:
    flat, nested = tmp_path / "throughputs.csv", tmp_path / "simulation_throughputs.json"
    flat.write_text(ROWS)
    nested.write_text(
        json.dumps(
            {
                "v100": {"('ResNet-18 (batch size 16)', 2)": {"null": 35.5}},
                "v100_unconsolidated": {"('CycleGAN', 1)": {"('LM (batch size 5)', 1)": [0, 2.5]}},
            }
        )
    )
    tables = [open_trace(file, source="gavel").tables["throughput"] for file in (flat, nested)]
    pd.testing.assert_frame_equal(*tables)


def test_a_job_that_is_no_pair_is_a_bad_row(tmp_path: Path) -> None:
    (tmp_path / "throughputs.csv").write_text(ROWS + "v100,ResNet,,1,\n")
    with pytest.raises(BadRowsError, match="job is not a"):
        open_trace(tmp_path, source="gavel")


def test_other_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "throughputs.json").write_text('{"v100": 7}')
    with pytest.raises(FormatError, match="not Gavel's table"):
        open_trace(tmp_path, source="gavel")


@pytest.mark.data
def test_each_worker_type_has_83_jobs_alone_and_most_pairs_were_not_measured(
    shared_data: Path,
) -> None:
    table = open_trace(shared_data / "gavel-throughput", source="gavel").tables["throughput"]
    alone = table.partner_model.isna()
    assert set(table[alone].groupby(["gpu_type", "consolidated"]).size()) == {83}
    assert table[~alone].steps_per_s.isna().mean() == pytest.approx(0.64, abs=0.02)
