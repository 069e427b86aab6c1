from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.autoscale.fleets import plateaus, usage_of

from prophase.autoscale.live_decision import rounded
from prophase.autoscale.policy_catalogue import POLICIES
from prophase.autoscale.policy_comparison import compare
from prophase.autoscale.recommendation_result import current_runs, recommendation_result
from prophase.autoscale.saved_policy import SavedPolicy, saved_policy
from prophase.errors import MissingColumnError, ModelFileError, ParameterError
from prophase.modelfile import save_model

SAVED = [name for name in POLICIES if name != "oracle"]


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("xgboost")
    fit, test = plateaus(series=6, samples=200, seed=1), plateaus(series=3, samples=163, seed=2)
    return compare(fit, test, target=0.9, policies=SAVED, max_resizes=300)


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_policy_decides_as_the_back_test_does_to_the_digit(found, name, tmp_path):
    path = tmp_path / "one.policy"
    saved_policy(found, name).save(path)
    held = SavedPolicy.load(path)
    test = found.test
    allocation = found.named(name).allocation
    for run, part in enumerate(test.runs()):
        decided = allocation[test.run_of_decision == run]
        # at the start, in the middle of an interval, at every decision, at the end
        for seen in (0, 3, 5, 10, 77, 100, part.stop - part.start):
            live = held.allocation(test.use[part][:seen])
            expected = decided[min(seen // test.every, len(decided) - 1)]
            assert live == expected or seen // test.every == len(decided)


def test_the_winner_is_saved_unless_another_is_named(found, tmp_path):
    assert saved_policy(found).name == found.winner.policy
    assert saved_policy(found, "recent-max").name == "recent-max"
    with pytest.raises(ParameterError, match="looks ahead"):
        saved_policy(found, "oracle")


def test_the_same_policy_gives_the_same_file(found, tmp_path):
    once = saved_policy(found, "recent-max").save(tmp_path / "a")
    assert SavedPolicy.load(tmp_path / "a").save(tmp_path / "b") == once


def test_an_unknown_policy_in_a_file_is_named(tmp_path):
    save_model(tmp_path / "x", kind="autoscale.policy", meta={"policy": "magic"})
    with pytest.raises(ModelFileError, match="policy 'magic' is unknown"):
        SavedPolicy.load(tmp_path / "x")
    save_model(tmp_path / "y", kind="autoscale.policy", meta={"policy": "priced", "state": {}})
    with pytest.raises(ModelFileError, match="Fit it again"):
        SavedPolicy.load(tmp_path / "y")


def test_a_recommendation_is_the_back_tests_next_decision(found):
    held = saved_policy(found, "recent-max")
    rows = recommendation_result(held, usage_of(found.test)).records
    assert [row["series_id"] for row in rows] == found.test.series
    for row, part in zip(rows, found.test.runs(), strict=True):
        exact = held.allocation(found.test.use[part])
        assert row["exact"] == exact
        assert row["allocation"] == rounded(exact, "memory_gib")


def test_series_unlike_those_learnt_from_are_answered_by_vpas_rule(found):
    held = saved_policy(found, "recent-max")
    strange = plateaus(series=1, seed=9)
    table = usage_of(strange)
    table["memory_gib"] *= 100
    told = recommendation_result(held, table)
    assert told.records[0]["by"] == "vpa"
    assert "more than was ever learnt from" in told.notes[1]


def test_only_the_last_run_counts_and_a_missing_metric_is_named(found):
    held = saved_policy(found, "recent-max")
    table = usage_of(found.test.only(found.test.series[:1]))
    later = table.copy()
    later["time_s"] += 1e6
    table = pd.concat([table, later.head(7)], ignore_index=True)
    (run,) = current_runs(table, held).values()
    assert run.start_s == 1e6
    np.testing.assert_array_equal(run.use, later["memory_gib"].head(7))
    with pytest.raises(MissingColumnError, match="memory_gib"):
        current_runs(table.rename(columns={"memory_gib": "mem"}), held)
