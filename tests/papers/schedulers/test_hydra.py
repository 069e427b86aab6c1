"""Hydra's schedulers against slow twins, and its printed numbers against its own test cases."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingFileError
from prophase.papers.schedulers import hydra
from prophase.papers.schedulers.hydra import (
    ALLOX,
    CASES,
    CHRONUS,
    GAVEL,
    HydraSetting,
    _compared,
    _first,
    hydra_rows,
    least_total,
)


def _jobs(times: np.ndarray, deadline: np.ndarray | None = None) -> pd.DataFrame:
    table = pd.DataFrame({"job_id": [f"j{row}" for row in range(len(times))], "submit_s": 0.0})
    due = np.full(len(times), np.nan) if deadline is None else deadline
    table = table.assign(request_gpus=1.0, attr_deadline_s=due)
    for column, kind in enumerate(("a100", "v100")):
        table[f"after_duration_{kind}_s"] = times[:, column]
    return table


def _least_by_trying(times: np.ndarray, gpus: list[int]) -> float:
    """Every order of the jobs, every GPU for each: the least sum of completion times."""
    best = np.inf
    for order in permutations(range(len(times))):
        for chosen in product(range(len(gpus)), repeat=len(times)):
            ends, total = [0.0] * len(gpus), 0.0
            for job in order:
                ends[chosen[job]] += times[job, gpus[chosen[job]]]
                total += ends[chosen[job]]
            best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_allox_has_the_least_mean_of_all_schedules(seed: int) -> None:
    times = np.random.default_rng(seed).integers(1, 30, (5, 2)).astype(float)
    setting = HydraSetting.of(_jobs(times), {"A100": 1, "V100": 2})
    ((mean, _),) = setting.outcomes(ALLOX)
    assert mean * 5 == pytest.approx(_least_by_trying(times, [0, 1, 1]))


def test_a_type_may_be_left_without_a_job() -> None:
    assert least_total(np.array([[1.0, 90.0], [1.0, 90.0]]), np.array([1, 1])).tolist() == [0, 0]


def test_the_shortest_pair_of_job_and_gpu_starts_first() -> None:
    # b is shortest on the V100; a then takes the A100, c waits for the first to be free
    setting = HydraSetting.of(
        _jobs(np.array([[5.0, 9.0], [4.0, 2.0], [6.0, 7.0]])), {"A100": 1, "V100": 1}
    )
    ((mean, _),) = setting.outcomes(GAVEL)
    assert mean == pytest.approx((2 + 5 + (2 + 7)) / 3)


def test_jobs_with_a_deadline_go_first_and_late_ones_are_counted() -> None:
    times = np.array([[10.0, 10.0], [10.0, 10.0]])
    setting = HydraSetting.of(_jobs(times, np.array([np.nan, 5.0])), {"A100": 1})
    assert set(setting.outcomes(CHRONUS)) == {((10 + 20) / 2, 1)}


@pytest.mark.data
def test_the_printed_means_come_out_of_its_own_cases(shared_data, monkeypatch) -> None:
    monkeypatch.setattr(hydra, "_DRAWS", 4)
    rows = list(_compared(CASES[0], 100, _first(shared_data / "hydra", CASES[0], 100)))
    assert {row["verdict"] for row in rows} == {"reproduced"}
    assert rows[0]["published"] == rows[0]["ours"] == "17,935.26"


def test_missing_cases_are_named(tmp_path) -> None:
    with pytest.raises(MissingFileError, match=r"20_ddl\.csv: is missing.*dos-lab/Hydra"):
        hydra_rows(tmp_path)
