from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.sizing import recommend
from prophase.sizing.gpu_grants import gpu_grants, parts_given
from prophase.sizing.kind_recommendation import Gate, Recommendation
from prophase.sizing.recommender import Recommender, learn_recommender


def jobs() -> pd.DataFrame:
    at = np.arange(60)
    return pd.DataFrame(
        {
            "job_id": at.astype(str), "task": "serve", "submit_s": 4000.0 * at,
            "duration_s": 3600.0, "request_gpus": 1.0, "gpu_util_mean_pct": 20.0 + at % 5,
            "status": "completed",
        }
    )  # fmt: skip


def recommended(nodes: pd.DataFrame) -> Recommendation:
    gate = Gate(gpu_parts=parts_given(jobs(), nodes))
    (one,) = recommend(jobs(), gate=gate, resource="gpu").tasks
    return one


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
    one = recommended(nodes)
    assert one.request == pytest.approx(share)
    assert words in one.why
    assert one.saving == pytest.approx(1 - share, abs=0.02)


def test_nodes_that_give_whole_gpus_keep_the_request() -> None:
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": ["v100"]})
    one = recommended(nodes)
    assert one.keep
    assert "whole GPUs only" in one.why
    assert len(gpu_grants(nodes.drop(columns="features"))) == 1


def test_nodes_that_name_no_parts_give_any_share_where_jobs_had_shares() -> None:
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8]})
    shared = jobs().assign(request_gpus=0.5)
    assert parts_given(shared, nodes) == ()
    assert parts_given(shared, None) == ()
    assert len(parts_given(jobs(), nodes)) == 1


@pytest.mark.parametrize(
    ("use_pct", "ladder", "words"),
    [
        (20.0, (1 / 4, 1 / 3, 1.0), "given as 1 of 4 jobs on a GPU"),
        (40.0, (1 / 2, 1.0, 1.0), "given as 1 of 2 jobs on a GPU"),
        # no second job fits beside it
        (60.0, None, "keep: 0.65 of a GPU would do, but the next part is 0.5"),
    ],
)
def test_where_nobody_describes_the_nodes_equal_jobs_share_a_gpu_or_it_stays_whole(
    use_pct: float, ladder: tuple[float, ...] | None, words: str
) -> None:
    history = jobs().assign(gpu_util_mean_pct=use_pct + np.arange(60) % 5)
    gate = Gate(gpu_parts=parts_given(history, None))
    (one,) = recommend(history, gate=gate, resource="gpu").tasks
    assert one.keep is (ladder is None)
    assert words in one.why
    if ladder is not None:
        assert one.ladder == pytest.approx(ladder)


def test_a_submitted_job_is_told_the_same_part_also_from_a_file(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": ["a100,2g.10gb"]})
    gate = Gate(gpu_parts=parts_given(jobs(), nodes))
    made = learn_recommender(jobs(), gate=gate)
    made.save(tmp_path / "requests.model")
    for recommender in (made, Recommender.load(tmp_path / "requests.model")):
        asked = {"task": "serve", "request_gpus": 1.0}
        (told,) = [one for one in recommender.recommend(asked) if one.resource == "gpu"]
        assert told.ladder[0] == pytest.approx(recommended(nodes).request)
        assert "nvidia.com/mig-2g.10gb" in told.words()
        # a job without GPUs is not told to ask for a part of one
        none = recommender.recommend({"task": "serve", "request_gpus": 0.0})
        assert not [one for one in none if one.resource == "gpu"]


def test_a_part_of_a_gpu_holds_the_memory_that_runs_needed() -> None:
    at = np.arange(60)
    heavy = jobs().assign(gpu_type="A100", gpu_memory_peak_gib=14.0 + at % 3)
    (one,) = recommend(heavy, resource="gpu").tasks
    assert 16.0 <= 40.0 * one.request < 20.0
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": ["1g.5gb,2g.10gb,3g.20gb"]})
    gate = Gate(gpu_parts=parts_given(heavy, nodes))
    (given,) = recommend(heavy.assign(gpu_memory_peak_gib=10.0), gate=gate, resource="gpu").tasks
    # two sevenths of the compute would do, but come with a quarter of the memory
    assert "3g.20gb" in given.why
    (full,) = recommend(heavy.assign(gpu_memory_peak_gib=39.0), gate=gate, resource="gpu").tasks
    assert full.keep


def test_of_an_unknown_gpu_the_smallest_that_holds_the_memory_is_taken() -> None:
    (one,) = recommend(jobs().assign(gpu_memory_peak_gib=3.0), resource="gpu").tasks
    assert one.request == pytest.approx(1.15 * 3 / 8, rel=0.05)
