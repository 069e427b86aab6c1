from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import InputError, ParameterError
from prophase.phase.crbm import CRBM, logistic, windows_of


def waves(samples: int = 300) -> np.ndarray:
    rng = np.random.default_rng(1)
    angle = np.arange(samples) / 6
    return np.column_stack([np.sin(angle), np.cos(angle)]) + rng.normal(0, 0.05, (samples, 2))


@pytest.fixture(scope="module")
def learnt() -> CRBM:
    return CRBM(hidden=5, history=2, epochs=60, random_state=3).fit([waves()])


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(learnt: CRBM) -> None:
    again = CRBM(hidden=5, history=2, epochs=60, random_state=3).fit([waves()])
    other = CRBM(hidden=5, history=2, epochs=60, random_state=4).fit([waves()])
    for name, value in learnt.arrays().items():
        assert value.tobytes() == again.arrays()[name].tobytes()
    assert learnt.W.tobytes() != other.W.tobytes()


def test_reconstruction_gets_better_while_learning(learnt: CRBM) -> None:
    assert learnt.errors_[-1] < 0.5 * learnt.errors_[0]


def free_energy(model: CRBM, windows: np.ndarray) -> np.ndarray:
    """Return minus the log of the unnormalised probability of each window's sample."""
    history, sample = np.hsplit(windows, [windows.shape[1] - len(model.v_bias)])
    off = sample - model.v_bias - history @ model.A.T
    drive = model.h_bias + history @ model.B.T + sample @ model.W.T
    return np.asarray(0.5 * (off**2).sum(axis=1) - np.logaddexp(0.0, drive).sum(axis=1))


@pytest.mark.parametrize("name", ["W", "A", "B", "v_bias", "h_bias"])
def test_the_gradient_is_the_slope_of_the_free_energy(learnt: CRBM, name: str) -> None:
    """CD-1 moves against F(data) - F(reconstruction), with the reconstruction held fixed."""
    windows = windows_of([waves(12)], 2)
    history, sample = np.hsplit(windows, [4])
    hidden = logistic(history @ learnt.B.T + learnt.h_bias + sample @ learnt.W.T)
    given = history @ learnt.A.T + learnt.v_bias + hidden @ learnt.W
    rebuilt = np.hstack([history, given])
    found = learnt.gradient(windows, np.random.default_rng(0))[name]
    arrays = learnt.arrays()
    for place in [(0, 0), (1, 1)] if arrays[name].ndim == 2 else [(0,), (1,)]:
        slopes = []
        for shift in (1e-5, -1e-5):
            moved = {key: value.copy() for key, value in arrays.items()}
            moved[name][place] += shift
            model = CRBM.from_arrays(moved)
            slopes.append(np.mean(free_energy(model, rebuilt) - free_energy(model, windows)))
        assert found[place] == pytest.approx((slopes[0] - slopes[1]) / 2e-5, rel=1e-4, abs=1e-7)


def test_learning_stops_early_and_keeps_the_best_weights() -> None:
    model = CRBM(hidden=3, history=1, epochs=500, patience=3, learning_rate=0.05).fit([waves(200)])
    assert len(model.errors_) < 500
    assert min(model.errors_) <= model.errors_[-1]


def test_generated_samples_stay_in_the_range_of_what_was_learned(learnt: CRBM) -> None:
    made = learnt.generate(waves()[:10], 50)
    assert made.shape == (50, 2)
    assert np.abs(made).max() < 10


def test_generating_needs_a_whole_history(learnt: CRBM) -> None:
    with pytest.raises(InputError, match="needs 2 samples of history"):
        learnt.generate(waves()[:1], 5)


def test_series_shorter_than_the_history_are_refused_with_their_length() -> None:
    with pytest.raises(InputError, match="the longest has 3"):
        CRBM(history=5).fit([waves(3)])


def test_a_learning_rate_that_diverges_is_reported() -> None:
    with pytest.raises(ParameterError, match="grow without bound"), np.errstate(all="ignore"):
        CRBM(learning_rate=1e6, epochs=20).fit([100 * waves()])


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"momentum": 1.0}, {"learning_rate": 0.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        CRBM(**wrong).fit([waves()])  # type: ignore[arg-type]


def test_weights_that_do_not_fit_together_are_refused(learnt: CRBM) -> None:
    with pytest.raises(InputError, match="do not fit together"):
        CRBM.from_arrays({**learnt.arrays(), "h_bias": np.zeros(3)})


def test_sampled_hidden_states_learn_as_well() -> None:
    model = CRBM(hidden=5, history=2, epochs=60, sampled=True, gibbs=2).fit([waves()])
    assert model.errors_[-1] < model.errors_[0]
