from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.error_tables import error_curve, errors_by_group


@pytest.mark.data
def test_both_readings_of_the_published_errors_are_given(shared_data: Path) -> None:
    path = shared_data / "polaris" / "published_duration_errors.csv"
    ratio = pd.read_csv(path)["rmse_perc"].to_numpy()
    curve = error_curve("paper", np.ones(len(ratio)), 1 + ratio)
    assert 100 * curve.within[5.0] == pytest.approx(1.2, abs=0.05)
    assert 100 * curve.within_ratio[5.0] == pytest.approx(80.4, abs=0.05)


def answers(value: float, stratum: str, count: int) -> pd.DataFrame:
    return pd.DataFrame({"value": [value] * count, "stratum": [stratum] * count})


def test_large_errors_get_their_cause() -> None:
    spread = np.exp(np.linspace(0, 8, 20))
    outcome = np.concatenate([np.full(20, 10.0), np.full(20, 10.0), spread, np.full(20, 10.0)])
    told = pd.concat(
        [
            answers(90.0, "seen", 20),
            answers(90.0, "new", 20),
            answers(55.0, "seen", 20),
            answers(11.0, "seen", 20),
        ]
    )
    groups = pd.Series(np.repeat(["alike", "unseen", "wild", "fine"], 20))
    found = errors_by_group(outcome, told, groups).set_index("group")["cause"].to_dict()
    assert found == {
        "alike": "wrong class", "unseen": "new metadata", "wild": "spread", "fine": "",
    }  # fmt: skip


def test_a_group_always_predicted_too_short_gets_a_cause_and_spread_comes_first() -> None:
    wild = np.exp(np.linspace(0, 8, 20))
    told = pd.concat([answers(10.0, "seen", 20), answers(55.0, "new", 20)])
    groups = pd.Series(np.repeat(["short", "wild"], 20))
    found = errors_by_group(np.concatenate([np.full(20, 100.0), wild]), told, groups)
    rows = found.set_index("group")
    assert rows["large"]["short"] == 0
    assert rows["cause"].to_dict() == {"short": "wrong class", "wild": "spread"}


def test_small_groups_are_put_together_and_silent_answers_left_out() -> None:
    told = answers(10.0, "seen", 8).assign(value=[10.0] * 7 + [np.nan])
    found = errors_by_group(np.full(8, 10.0), told, pd.Series(["a"] * 5 + ["b", None, "a"]))
    assert found[["group", "jobs"]].values.tolist() == [["a", 5], ["other", 2]]
