from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import InputError
from prophase.papers.thesis.experiments import best_of, on_unseen_scenarios
from prophase.papers.thesis.reproduction import ThesisReproduction, reproduce
from prophase.sizing.assess import assessment


@pytest.fixture(scope="module")
def found(pipeline) -> ThesisReproduction:
    with pytest.MonkeyPatch.context() as patch:
        # forests of drivers take seconds and are tested elsewhere
        patch.setattr(assessment, "_drivers", lambda *arguments: ({}, []))
        return reproduce(pipeline, trials=1)


def test_there_are_18_models_per_heavy_task_and_every_trial_is_kept(found):
    table = found.table()
    assert table[table["split"] == "runs"].groupby("task").size().tolist() == [18, 18]
    assert len(found.history()) == 36


def test_every_table_stands_beside_ours(found):
    items = " ".join(row["item"] for row in found.rows)
    for number in range(3, 14):
        assert f"Table {number}" in items
    verdicts = {row["verdict"] for row in found.rows}
    assert "DIFFERS" not in verdicts
    assert {"reproduced", "in kind", "contradicted", "ours"} <= verdicts


def test_optimal_improvements_are_within_a_point_of_table_6(found):
    rows = [r for r in found.rows if r["item"].startswith("Table 6") and r["published"] != "-"]
    assert len(rows) == 6
    assert all(row["verdict"] == "in kind" for row in rows)


def test_three_bins_reach_the_estimates_of_the_thesis(found):
    for task, goal in (("predict_demand", 85.7), ("optimise_discounts", 69.7)):
        three = [o for o in found.experiments if o.task == task and len(o.binning) == 3]
        assert max(one.estimated_pct for one in three) >= goal - 1


def test_a_fitted_largest_bin_improves_more_than_the_kept_one(found):
    ours = [row["ours"] for row in found.rows if "our search" in row["item"]]
    kept, fitted = (float(text.rpartition(" ")[2]) for text in ours[:2])
    assert fitted > kept


def test_cautious_answers_on_unseen_scenarios_rarely_under_estimate(heavy):
    one = on_unseen_scenarios(heavy, (10.0, 60.0, 350.0), trials=8)
    assert one.score.total == len(heavy)
    assert one.score.u_rate_pct <= 1.0
    assert one.estimated_pct >= 80.0


def test_the_best_is_the_one_with_the_least_u_score(found):
    best = best_of(found.experiments, task="predict_demand")
    mine = [o.score.u_score for o in found.experiments if o.task == "predict_demand"]
    assert best.score.u_score == min(mine)


def test_a_trace_without_the_heavy_tasks_is_refused(pipeline):
    with pytest.raises(InputError, match="prophase synth pipeline"):
        reproduce(pipeline[pipeline["task"] == "load_sales"])


def test_realised_improvement_knows_the_cost_of_kills(found):
    rows = found.table()
    assert np.isfinite(rows["realised_pct"]).all()
    assert (rows["realised_pct"] <= 100).all()
