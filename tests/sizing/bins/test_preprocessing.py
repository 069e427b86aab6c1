from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ModelFileError
from prophase.sizing.bins.preprocessing import Preprocessing


@pytest.fixture
def runs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    count = 120
    products = np.round(np.exp(rng.normal(4, 1.5, count)))
    left = rng.integers(1, 40, count)
    end = pd.Timestamp("2020-03-01") + pd.to_timedelta(left, unit="D")
    return pd.DataFrame(
        {
            "attr_products": products,
            "attr_end": end.strftime("%Y-%m-%d"),
            "attr_today": "2020-03-01",
            "attr_scenario": rng.choice(["north|ladies", "west|men"], count),
            "attr_code": [f"id-{n}" for n in range(count)],
            "submit_s": np.arange(count),
            "memory_peak_gib": products * left / 100,
            "duration_s": 60.0,
        }
    )


def test_dates_become_differences_and_composites_fall_into_parts(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    assert "attr_today - attr_end" in made.figures
    assert set(made.categories) == {"attr_scenario.1", "attr_scenario.2"}
    assert made.categories["attr_scenario.1"] == ("north", "west")


def test_nothing_known_only_afterwards_and_no_name_of_a_row_becomes_a_feature(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    said = " ".join(made.names())
    for forbidden in ("memory", "duration", "submit", "attr_code"):
        assert forbidden not in said


def test_two_numbers_that_tell_more_together_get_their_product(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    assert any(" x " in name for name in made.figures)


def test_what_was_saved_transforms_to_the_same_numbers_after_json(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    again = Preprocessing.from_dict(json.loads(json.dumps(made.to_dict())))
    np.testing.assert_array_equal(again.transform(runs), made.transform(runs))


def test_one_run_alone_is_transformed_as_it_is_among_others(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    whole = made.transform(runs)
    one = {name: [str(runs[name].iloc[7])] for name in made.columns}
    np.testing.assert_allclose(made.transform(one)[0], whole[7])


def test_a_new_category_changes_nothing_and_is_named(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    new = runs.head(1).assign(attr_scenario="overseas|ladies")
    hot = made.transform(new)[
        0, [made.names().index(f"attr_scenario.1={r}") for r in ("north", "west")]
    ]
    assert hot.tolist() == [0.0, 0.0]
    assert made.unknown(new) == ["attr_scenario.1 has 1 new value: overseas"]


def test_missing_numbers_count_as_the_mean(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    seen = made.transform(runs.head(1).assign(attr_products=np.nan))
    assert np.isfinite(seen).all()


def test_a_missing_column_is_named(runs):
    made = Preprocessing().fit(runs, runs["memory_peak_gib"].to_numpy())
    with pytest.raises(MissingColumnError, match="lack attr_products"):
        made.transform(runs.drop(columns="attr_products"))


def test_runs_that_differ_in_nothing_known_before_are_refused():
    runs = pd.DataFrame({"attr_rows": [1.0, 1.0], "memory_peak_gib": [1.0, 2.0]})
    with pytest.raises(InputError, match="nothing can tell a heavy one"):
        Preprocessing().fit(runs, np.array([1.0, 2.0]))


def test_a_damaged_description_is_refused():
    with pytest.raises(ModelFileError, match="lacks a part"):
        Preprocessing.from_dict({"columns": []})
