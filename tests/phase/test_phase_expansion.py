from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.phase.made_series import steps, usage_of

from prophase.errors import InputError, ParameterError
from prophase.phase.detector import PhaseDetector
from prophase.phase.phase_expansion import expand, propose


def learnt(usage: pd.DataFrame) -> PhaseDetector:
    return PhaseDetector("samples", n_phases=3).fit(usage)


def strange() -> pd.DataFrame:
    return usage_of({"new": steps([7.0, 30.0, 7.0, 60.0], seed=9)})


def test_old_series_keep_every_number_and_new_behaviour_gets_new_ones(
    levels_usage: pd.DataFrame, tmp_path: Path
) -> None:
    found = learnt(levels_usage)
    before = found.label(levels_usage)["phase"]
    result = expand(found, strange())
    assert result.phase == 2
    # two new levels, and perhaps one for stray samples
    assert result.added[:2] == (3, 4)
    assert found.label(levels_usage)["phase"].equals(before)
    labels = found.label(strange())["phase"].to_numpy()
    assert set(labels[35:55]) | set(labels[95:115]) <= set(result.added)
    assert set(labels[35:55]).isdisjoint(labels[95:115])
    # some samples lie in the tail of what was seen, and count as new
    assert (labels[:30] == 2).mean() > 0.9
    found.save(tmp_path / "more.model")
    again = PhaseDetector.load(tmp_path / "more.model")
    assert again.label(strange())["phase"].tolist() == labels.tolist()
    assert again.n_phases_ == 3 + len(result.added)


def test_what_was_split_is_known_afterwards(levels_usage: pd.DataFrame) -> None:
    found = learnt(levels_usage)
    assert found.label(strange())["new"].mean() > 0.4
    expand(found, strange())
    assert found.label(strange())["new"].mean() == 0


def test_nothing_is_split_if_nothing_is_new(levels_usage: pd.DataFrame) -> None:
    found = learnt(levels_usage)
    result = expand(found, usage_of({"same": steps([1.0, 4.0], seed=5)}))
    assert result.phase is None
    assert result.added == ()
    assert "Nothing to split" in result.reason


def test_the_proposal_names_the_phase_and_changes_nothing(levels_usage: pd.DataFrame) -> None:
    found = learnt(levels_usage)
    result = propose(found, strange())
    assert result.phase == 2
    assert found.n_phases_ == 3
    assert 60 <= result.table["new_samples"].tolist()[2] <= 64


def test_a_phase_without_new_samples_is_not_split(levels_usage: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="phase 0 has 0 new samples"):
        expand(learnt(levels_usage), strange(), phase=0)
    with pytest.raises(ParameterError, match="there is no phase 9"):
        expand(learnt(levels_usage), strange(), phase=9)


def test_a_given_number_of_groups_is_made(levels_usage: pd.DataFrame) -> None:
    result = expand(learnt(levels_usage), strange(), groups=3)
    assert len(result.added) == 3
    assert np.isfinite(result.table["variance"].dropna()).all()
    assert result.table["share_pct"].sum() == pytest.approx(100)
    assert set(result.added) <= set(result.table["phase"])
    assert result.variance is not None
    assert result.variance[1] < result.variance[0]


def test_a_network_splits_on_activations_saved_streamed_and_repeated(
    levels_usage: pd.DataFrame, tmp_path: Path
) -> None:
    found = PhaseDetector("crbm", n_phases=3, window=2, hidden=4).fit(levels_usage)
    before = found.label(levels_usage)["phase"]
    result = expand(found, strange(), groups=2)
    assert found.splits_[0].hidden
    assert found.splits_[0].centres.shape == (2, 4)
    assert found.label(levels_usage)["phase"].equals(before)
    assert found.statistics_.groupby("metric")["share_pct"].sum().tolist() == pytest.approx(
        [100, 100]
    )
    found.save(tmp_path / "split.model")
    again = PhaseDetector.load(tmp_path / "split.model")
    labels = found.label(strange())["phase"].tolist()
    assert set(labels) & set(result.added)
    assert again.label(strange())["phase"].tolist() == labels
    live = again.stream()
    rows = strange().drop(columns="series_id").to_numpy().tolist()
    told = [live.push(time_s, values) for time_s, *values in rows]
    assert [one.phase for one in told if one is not None] == labels
    # what was split is known, so the same series split nothing a second time
    assert expand(again, strange()).added == ()


def test_all_samples_learned_from_are_known_however_many() -> None:
    many = usage_of({f"s{n}": steps([1.0, 4.0] * 40, seed=n) for n in range(3)})
    found = PhaseDetector("samples", n_phases=2).fit(many)
    assert not found.label(many)["new"].any()
