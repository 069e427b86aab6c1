from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.vq import kmeans2

from prophase.trace.synth.containers import make_containers
from prophase.trace.trace_tables import Trace


def adjusted_rand(one: np.ndarray, other: np.ndarray) -> float:
    table = pd.crosstab(one, other).to_numpy(float)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    rows, columns = pairs(table.sum(1)), pairs(table.sum(0))
    expected = rows * columns / (table.sum() * (table.sum() - 1) / 2)
    return (pairs(table) - expected) / ((rows + columns) / 2 - expected)


def agreement(trace: Trace, *, windows: bool) -> float:
    """Mean agreement of plain k-means with the true phases, service by service."""
    truth = trace.truth["truth_phases"]
    metrics = trace.usage.drop(columns=["series_id", "time_s"])
    scores = []
    for rows in truth.groupby("service").groups.values():
        view = metrics.loc[rows]
        if windows:
            series = trace.usage.loc[rows, "series_id"]
            moved = view.groupby(series).diff().abs().fillna(0.0)
            spread = view.groupby(series).transform(
                lambda column: column.rolling(15, min_periods=2, center=True).std()
            )
            steps = moved.groupby(series).transform(
                lambda column: column.rolling(15, min_periods=1, center=True).mean()
            )
            view = pd.concat([spread, steps], axis=1)
        scaled = ((view - view.mean()) / view.std()).to_numpy()
        _, found = kmeans2(scaled, 4, seed=0, minit="++")
        scores.append(adjusted_rand(truth.loc[rows, "phase"].to_numpy(), found))
    return float(np.mean(scores))


@pytest.fixture(scope="module")
def worlds() -> dict[str, Trace]:
    return {
        kind: make_containers(16, samples=500, services=4, kind=kind)
        for kind in ("levels", "both", "dynamics")
    }


def test_levels_can_be_given_sample_by_sample_and_dynamics_cannot(worlds: dict[str, Trace]) -> None:
    by_sample = {kind: agreement(trace, windows=False) for kind, trace in worlds.items()}
    assert by_sample["levels"] > 0.85
    assert 0.4 < by_sample["both"] < 0.9
    assert by_sample["dynamics"] < 0.12


def test_dynamics_show_in_windows(worlds: dict[str, Trace]) -> None:
    assert agreement(worlds["dynamics"], windows=True) > 0.25


def test_dynamics_keep_the_mean_and_levels_do_not(worlds: dict[str, Trace]) -> None:
    def spread_of_means(kind: str) -> float:
        trace = worlds[kind]
        truth = trace.truth["truth_phases"]
        means = trace.usage["cpu_cores"].groupby([truth["service"], truth["phase"]]).mean()
        return float((means.groupby("service").std() / means.groupby("service").mean()).mean())

    assert spread_of_means("dynamics") < 0.06
    assert spread_of_means("levels") > 0.3


def test_every_sample_has_one_true_phase(worlds: dict[str, Trace]) -> None:
    for trace in worlds.values():
        truth = trace.truth["truth_phases"]
        keys = ["series_id", "time_s"]
        pd.testing.assert_frame_equal(truth[keys], trace.usage[keys])
        assert truth["phase"].between(0, 3).all()
        assert not truth.duplicated(keys).any()


def test_phases_last_and_recur(worlds: dict[str, Trace]) -> None:
    truth = worlds["both"].truth["truth_phases"]
    new = (truth["phase"].diff() != 0) | (truth["series_id"] != truth["series_id"].shift())
    runs = truth.groupby(new.cumsum()).agg(
        phase=("phase", "first"), series=("series_id", "first"), length=("phase", "size")
    )
    assert runs["length"].mean() > 15
    stays = runs.groupby(["series", "phase"]).size()
    assert (stays > 1).mean() > 0.5
    # what follows a phase is mostly the same in all containers of a service
    follows = runs["phase"].shift(-1)
    service = runs["series"].str.split("/").str[0]
    same_series = runs["series"] == runs["series"].shift(-1)
    table = pd.crosstab([service[same_series], runs["phase"][same_series]], follows[same_series])
    assert (table.max(axis=1) / table.sum(axis=1)).mean() > 0.55


def test_steps_are_even_unless_asked_otherwise() -> None:
    def steps(trace: Trace) -> pd.Series:
        return trace.usage.groupby("series_id")["time_s"].diff().dropna()

    even = make_containers(5, samples=200)
    assert (steps(even).groupby(even.usage["series_id"]).nunique() == 1).all()
    uneven = steps(make_containers(5, samples=200, irregular=True))
    assert (uneven > 0).all()
    assert uneven.nunique() > 10


def test_gaps_lose_samples_in_runs_but_no_series_ends() -> None:
    whole, holey = make_containers(20), make_containers(20, gaps=True)
    lost = 1 - len(holey.usage) / len(whole.usage)
    assert 0.02 < lost < 0.09
    assert holey.usage["series_id"].nunique() == 20
    jumps = holey.usage.groupby("series_id")["time_s"].diff()
    usual = jumps.groupby(holey.usage["series_id"]).transform("median")
    holes = (jumps / usual)[jumps > 1.5 * usual]
    assert holes.mean() > 4
    assert len(holey.truth["truth_phases"]) == len(holey.usage)


def test_metrics_are_chosen_and_stay_in_range() -> None:
    trace = make_containers(8, metrics=("gpu_util_pct", "gpu_memory_gib"), kind="dynamics")
    assert list(trace.usage.columns) == ["series_id", "time_s", "gpu_util_pct", "gpu_memory_gib"]
    assert trace.usage["gpu_util_pct"].between(0, 100).all()
    assert (trace.usage["gpu_memory_gib"] >= 0).all()


def test_one_phase_and_one_service_are_allowed() -> None:
    trace = make_containers(2, services=1, phases=1, samples=30)
    assert (trace.truth["truth_phases"]["phase"] == 0).all()
