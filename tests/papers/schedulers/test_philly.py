"""Helios' and Tiresias' comparisons: what decides a verdict, on small inputs."""

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.papers.schedulers import philly
from prophase.papers.schedulers.philly import (
    FIFO,
    HELIOS,
    HELIOS_ALL,
    QSSF,
    SJF,
    SRTF,
    Means,
    as_loaded,
    compared,
    drawn_estimates,
    helios_rows,
    philly_jobs,
)


def _written(folder, rows: list[tuple[str, float, int, str]]):
    table = pd.DataFrame(rows, columns=["timestamp", "duration", "num_gpus", "cluster"])
    table["gpu_time"] = table["duration"] * table["num_gpus"]
    table.to_csv(folder / "philly.csv", index=False)
    return folder


def test_only_the_two_months_and_the_eleven_clusters_count(tmp_path) -> None:
    folder = _written(
        tmp_path,
        [
            ("2017-09-30 23:59:59", 60.0, 1, "6214e9"),
            ("2017-10-01 00:00:00", 60.0, 1, "6214e9"),
            ("2017-11-30 12:00:00", 60.0, 8, "11cb48"),
            ("2017-11-01 12:00:00", 60.0, 1, "795a4c"),
        ],
    )
    assert philly_jobs(folder)["queue"].tolist() == ["6214e9", "11cb48"]


def test_jobs_of_another_time_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="no job of October and November 2017"):
        philly_jobs(_written(tmp_path, [("2018-01-01 00:00:00", 60.0, 1, "6214e9")]))


def test_nodes_shrink_with_the_run_times_but_hold_the_widest_job() -> None:
    nodes, jct, wait = HELIOS["6214e9"]
    run = (jct[0] - wait[0]) / 4
    jobs = pd.DataFrame({"queue": "6214e9", "duration_s": [run], "request_gpus": [1.0]})
    assert as_loaded(jobs) == {"6214e9": nodes // 4}
    wide = jobs.assign(duration_s=1.0, request_gpus=24.0)
    assert as_loaded(wide) == {"6214e9": 3}


def test_each_cluster_is_replayed_for_itself_by_every_policy() -> None:
    jobs = pd.DataFrame(
        {
            "job_id": ["long", "short", "else"],
            "queue": ["a", "a", "b"],
            "submit_s": [0.0, 1.0, 0.0],
            "duration_s": [100.0, 10.0, 10.0],
            "request_gpus": 8.0,
        }
    )
    found = compared(jobs, {"a": 1, "b": 1}, (FIFO, SJF, SRTF, QSSF))
    assert found["b"][FIFO] == Means(1, 10.0, 0.0)
    assert found["a"][FIFO].wait_s == pytest.approx(99 / 2)
    # the short one stops the long one, which takes 30 s to go on
    assert found["a"][SRTF].jct_s == pytest.approx((140 + 10) / 2)


def test_errors_of_estimates_are_spread_as_helios_draws_them() -> None:
    error = abs(drawn_estimates(np.ones(20_000), np.random.default_rng(1)) - 1)
    shares = [np.mean(error <= bound) for bound in (0.1, 0.5, 1.0, 10.0, 100.0)]
    assert np.allclose(shares, [0.1, 0.5, 0.7, 0.9, 1.0], atol=0.02)


@pytest.mark.parametrize(("factor", "decided"), [(1.0, True), (0.5, False)])
def test_means_are_judged_only_on_jobs_that_ran_as_long(
    tmp_path, monkeypatch, factor, decided
) -> None:
    run = factor * (HELIOS_ALL[0][0] - HELIOS_ALL[1][0])
    _written(tmp_path, [("2017-10-02 00:00:00", run, 1, "e13805")])
    rows = helios_rows(tmp_path)
    means = [row for row in rows if row["claim"] == "mean wait, s"]
    assert {row["verdict"] for row in means} == ({"contradicted"} if decided else {"needs data"})
    assert rows[0]["verdict"] == ("reproduced" if decided else "needs data")
    saved = next(row for row in rows if "wait saved" in row["claim"])
    assert saved["verdict"] == ("contradicted" if decided else "differs in kind")


def test_the_printed_means_of_clusters_and_of_all_jobs_fit_each_other() -> None:
    for column in range(4):
        waits = [row[2][column] for row in HELIOS.values()]
        assert min(waits) <= HELIOS_ALL[1][column] <= max(waits)
    for _, jct, wait in HELIOS.values():
        runs = np.subtract(jct, wait)[[0, 1, 3]]
        assert np.ptp(runs) <= 2, "who does not stop jobs runs them as long"
    assert philly._POLICIES == (FIFO, SJF, SRTF, QSSF)
