from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingExtraError
from prophase.sizing.assess import drivers
from prophase.sizing.assess.drivers import drivers_in_words, rank_drivers
from prophase.trace.identity.job_identity import with_identity


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    count = 240
    rows, days = np.exp(rng.normal(3, 1, count)), rng.integers(1, 30, count).astype(float)
    region = rng.choice(["north", "east"], count)
    peak = 0.1 * rows * days * np.where(region == "east", 3.0, 1.0)
    jobs = pd.DataFrame(
        {
            "task": "train",
            "group": [f"g{n // 4}" for n in range(count)],
            "attr_rows": rows,
            "attr_days": days,
            "attr_region": region,
            "attr_noise": rng.random(count),
            "attr_day": "2020-01-01",
            "attr_id": [f"run-{n}" for n in range(count)],
            "duration_s": peak,
            "memory_peak_gib": peak,
        }
    )
    return with_identity(jobs, by="task")


@pytest.fixture(scope="module")
def ranked(runs):
    return rank_drivers(runs, "train").set_index("driver")


def test_what_drives_memory_comes_before_what_does_not(ranked):
    order = list(ranked.index)
    assert order.index("attr_rows") < order.index("attr_noise")
    assert ranked.loc["attr_noise", "importance"] < 0.05
    assert ranked.loc["attr_rows", "importance"] > 0.2


def test_numbers_have_a_correlation_and_categories_an_effect(ranked):
    assert ranked.loc["attr_rows", "correlation"] > 0.5
    assert 0.05 < ranked.loc["attr_region", "effect"] < 0.9


def test_a_product_that_predicts_more_than_its_parts_is_shown(ranked):
    product = next(name for name in ranked.index if " x " in name)
    assert set(product.split(" x ")) == {"attr_rows", "attr_days"}
    assert ranked.loc[product, "correlation"] > ranked.loc["attr_rows", "correlation"]


def test_what_is_known_only_afterwards_or_names_a_row_or_never_varies_is_no_driver(ranked):
    assert not {"duration_s", "memory_peak_gib", "attr_id", "attr_day"} & set(ranked.index)


def test_without_the_extra_correlations_still_rank(runs, monkeypatch):
    def absent(name: str) -> None:
        raise MissingExtraError("this", "learn")

    monkeypatch.setattr(drivers, "library", absent)
    table = rank_drivers(runs, "train")
    assert table["importance"].isna().all()
    assert table["driver"].iloc[0] == "attr_rows x attr_days" or "group" in table["driver"].iloc[0]


def test_dates_are_numbers_of_days(runs):
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(runs["attr_days"], unit="D")
    table = rank_drivers(runs.assign(attr_end=dates.dt.strftime("%Y-%m-%d")), "train")
    end = table.set_index("driver").loc["attr_end"]
    assert end["kind"] == "number"
    assert end["correlation"] > 0.3


def test_an_unknown_task_is_named_with_those_there_are(runs):
    with pytest.raises(InputError, match=r"no task 'trian'. Did you mean 'train'"):
        rank_drivers(runs, "trian")


def test_few_runs_are_refused(runs):
    with pytest.raises(InputError, match="at least 30 runs"):
        rank_drivers(runs.head(10), "train")


def test_a_task_that_nothing_drives_is_said():
    table = pd.DataFrame(
        {
            "driver": ["attr_a"],
            "kind": ["number"],
            "correlation": [0.01],
            "effect": [np.nan],
            "importance": [0.0],
        }
    )
    assert drivers_in_words("t", table) == "t: no column known at submission predicts its memory."
