from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.phase.made_series import steps, usage_of

from prophase.errors import ParameterError
from prophase.phase.detector import PhaseDetector
from prophase.phase.stays import stays_of
from prophase.phase.time_scales import Cycle, TimeScale, human
from prophase.stats import Estimate


def a_training_run(epochs: int = 6) -> pd.DataFrame:
    """Iterations of two seconds for three minutes, then half a minute of validation, and again."""
    rng = np.random.default_rng(0)
    length = 210 * epochs
    at = np.arange(length)
    validates = at % 210 >= 180
    busy = np.where(validates, 1.0, np.where(rng.random(length) < 0.5, 0.0, 8.0))
    values = np.column_stack([busy, np.where(validates, 2.0, 6.0)])
    return usage_of({"run": values + rng.normal(0, 0.1, values.shape)}, step_s=1.0)


@pytest.fixture(scope="module")
def run() -> pd.DataFrame:
    return a_training_run()


def test_epochs_are_found_where_single_samples_only_flicker(run: pd.DataFrame) -> None:
    found = PhaseDetector(n_phases=2, step_s="auto").fit(run)
    assert found.step_s_ is not None
    assert found.step_s_ > 1
    assert "Sample by sample there are" in " ".join(found.notes_)
    stays = stays_of(found.labels_)
    assert np.median(stays.samples[stays.whole]) * found.step_s_ >= 25
    # one validation per epoch, and what goes before it
    assert len(stays.phase) <= 2 * 6 + 4


def test_phases_that_last_stay_at_the_samples_step(levels_usage: pd.DataFrame) -> None:
    found = PhaseDetector(n_phases=3, step_s="auto").fit(levels_usage)
    assert found.step_s_ is None


def test_no_phase_is_told_for_less_than_the_minimum_stay(run: pd.DataFrame, tmp_path: Path) -> None:
    part = run.head(630)
    found = PhaseDetector(n_phases=2, window=1, min_stay_s=20.0).fit(part)
    stays = stays_of(found.labels_)
    assert (stays.samples[stays.whole] * found.usual_step_s_ >= 20.0).all()
    found.save(tmp_path / "calm.model")
    again = PhaseDetector.load(tmp_path / "calm.model")
    assert again.label(part).equals(found.label(part))
    live = again.stream()
    told = [live.push(t, row) for t, *row in part.drop(columns="series_id").to_numpy().tolist()]
    phases = [one.phase for one in told if one is not None]
    assert phases == found.label(part)["phase"].tolist()[: len(phases)]
    with pytest.raises(ParameterError, match="min_stay_s is -1"):
        PhaseDetector(min_stay_s=-1.0).fit(part)


def test_the_scale_with_the_fewest_stays_per_cycle_is_taken() -> None:
    cycle = Cycle(1, Estimate(600.0, 590.0, 610.0, n=6))
    flickers = TimeScale(1.0, 9, 2.0, None)
    fine, coarse = TimeScale(3.0, 6, 30.0, cycle), TimeScale(30.0, 2, 290.0, cycle)
    assert human([flickers, fine, coarse]) is coarse
    assert human([fine, coarse]) is fine
    assert human([flickers]) is flickers
    assert [one.like for one in (flickers, fine)] == ["iterations", "epochs"]


def test_epochs_of_real_training_telemetry_are_found(shared_data: Path) -> None:
    from prophase.trace import open_trace

    usage = open_trace(shared_data / "blox-dstat").usage
    found = PhaseDetector(step_s=30.0).fit(usage)
    begins = [
        time
        for time, before, now in zip(
            *(found.label(usage)[name].tolist()[1:] for name in ("time_s",)),
            found.labels_[0][:-1].tolist(),
            found.labels_[0][1:].tolist(),
            strict=True,
        )
        if (before, now) == (0, 1)
    ]
    # from the fourth on, the end of every epoch and nothing else
    assert all(9 * 60 <= gap <= 12 * 60 for gap in np.diff(begins[2:]))


def test_more_memory_than_ever_is_new_whatever_else_happens() -> None:
    learnt = usage_of({f"s{n}": steps([1.0, 4.0] * 3, seed=n) for n in range(2)})
    rng = np.random.default_rng(3)
    learnt = learnt.assign(**{f"noise_{n}": rng.normal(0, 1, len(learnt)) for n in range(8)})
    found = PhaseDetector("samples", n_phases=2).fit(learnt)
    more = learnt[learnt["series_id"] == "s0"].copy()
    assert found.label(more)["new"].mean() < 0.02
    more["memory_gib"] = learnt["memory_gib"].max() + 0.5
    assert found.label(more)["new"].all()


def test_irregular_steps_are_brought_to_one_and_said(levels_usage: pd.DataFrame) -> None:
    rng = np.random.default_rng(0)
    moved = levels_usage.assign(time_s=np.cumsum(rng.uniform(5, 20, len(levels_usage))))
    kept = PhaseDetector("samples", n_phases=3).fit(moved)
    assert "irregular steps" in " ".join(kept.notes_)
    found = PhaseDetector("samples", n_phases=3, step_s="auto").fit(moved)
    assert found.step_s_ is not None
    assert "were brought to" in " ".join(found.notes_)


def test_prototypes_are_a_table(detector: PhaseDetector) -> None:
    rows = detector.prototype_rows_
    assert sum(row["executions"] for row in rows) == 4
    assert rows[0]["phases"] == "0 1 2 0 1 2 0 1 2"


def test_memory_that_grows_on_as_it_was_learnt_is_nothing_new() -> None:
    rng = np.random.default_rng(5)
    grows = np.linspace(10.0, 40.0, 600) + rng.normal(0, 0.2, 600)
    cpu = np.tile(np.repeat([1.0, 4.0], 30), 10) + rng.normal(0, 0.1, 600)
    usage = pd.DataFrame(
        {"series_id": "run", "time_s": np.arange(600.0) * 60, "cpu": cpu, "memory_gib": grows}
    )
    found = PhaseDetector("samples", n_phases=2).fit(usage[:400])
    assert found.label(usage[400:])["new"].mean() < 0.05
    leak = usage[400:].assign(memory_gib=3 * grows[400:])
    assert found.label(leak)["new"].all()
