from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sizing import recommend
from prophase.sizing.gpu_grants import gpu_grants, granted


def jobs() -> pd.DataFrame:
    at = np.arange(60)
    return pd.DataFrame(
        {
            "job_id": at.astype(str), "task": "serve", "submit_s": 4000.0 * at,
            "duration_s": 3600.0, "request_gpus": 1.0, "gpu_util_mean_pct": 20.0 + at % 5,
            "status": "completed",
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("features", "share", "words"),
    [
        ("a100,1g.5gb,2g.10gb,3g.20gb", 2 / 7, "nvidia.com/mig-2g.10gb"),
        ("a100 mps", 0.25, "--gres=mps:25"),
        ("t4,time-slice-2", 0.5, "1 of 2 jobs on a GPU"),
    ],
)
def test_a_part_of_a_gpu_is_rounded_up_to_what_nodes_give(
    features: str, share: float, words: str
) -> None:
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": [features]})
    (one,) = granted(recommend(jobs(), resource="gpu"), nodes).tasks
    assert one.request == pytest.approx(share)
    assert words in one.why
    assert one.saving == pytest.approx(1 - share, abs=0.02)


def test_nodes_that_give_whole_gpus_keep_the_request() -> None:
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": ["v100"]})
    (one,) = granted(recommend(jobs(), resource="gpu"), nodes).tasks
    assert one.keep
    assert "whole GPUs only" in one.why
    assert len(gpu_grants(nodes.drop(columns="features"))) == 1
