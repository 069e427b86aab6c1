from __future__ import annotations

import itertools

import numpy as np
import pytest

from prophase.trace.series.hidden_markov_model import HMM, _expect, _Padded, learn_hmm


def small() -> HMM:
    """Two states that move, with numbers picked by hand."""
    return HMM(
        start=np.array([0.6, 0.4]),
        moves=np.array([[0.9, 0.1], [0.2, 0.8]]),
        weights=np.array([[[0.1, 0.5]], [[1.0, -0.3]]]),
        variance=np.array([[0.2], [0.5]]),
        level=np.array([[0.2], [0.8]]),
        spread=np.array([[0.3], [0.6]]),
        log_likelihood=0.0,
        samples=0,
    )


def by_enumeration(model: HMM, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Sum over all paths: the obvious, slow way."""
    stay, enter = (np.exp(part) for part in model.densities(values))
    n, k = stay.shape
    last = np.zeros((n, k))
    for length in range(1, n + 1):
        for path in itertools.product(range(k), repeat=length):
            weight = model.start[path[0]] * stay[0, path[0]]
            for place in range(1, length):
                one, other = path[place - 1], path[place]
                density = stay if one == other else enter
                weight *= model.moves[one, other] * density[place, other]
            last[length - 1, path[-1]] += weight
    return last / last.sum(axis=1, keepdims=True), float(last[-1].sum())


def test_filtering_agrees_with_the_sum_over_all_paths() -> None:
    model, values = small(), np.array([[0.1], [0.3], [1.2], [0.9], [0.2], [0.4]])
    expected, _ = by_enumeration(model, values)
    assert model.filtered(values) == pytest.approx(expected)


def test_learning_never_makes_the_likelihood_worse() -> None:
    rng = np.random.default_rng(0)
    values = (np.repeat([0.0, 1.0, 0.3], 40) + rng.normal(0, 0.3, 120))[:, None]
    rounds = [learn_hmm([values], 2, most_rounds=n, tolerance=-1.0) for n in (1, 3, 6, 12)]
    found = [one.log_likelihood for one in rounds]
    assert all(later >= earlier - 1e-6 for earlier, later in itertools.pairwise(found))


def test_samples_that_no_reachable_state_explains_do_not_overflow() -> None:
    # the model is sure to be in the first state and never to leave it; the second one fits
    log_density = np.array([[0.0, -2000.0], *[[-2000.0, 0.0]] * 5])
    (belief, remained), pairs, starts, likelihood = _expect(
        _Padded([6]), log_density, log_density, np.array([1.0, 0.0]), np.eye(2)
    )
    for found in (belief, remained, pairs, starts, likelihood):
        assert np.isfinite(found).all()


def test_phases_that_differ_only_in_movement_are_distinguished_by_a_higher_order() -> None:
    rng = np.random.default_rng(2)
    parts = []
    for memory in (0.0, 0.95, 0.0, 0.95):
        noise = rng.normal(0, np.sqrt(1 - memory**2), 150)
        part = np.zeros(150)
        for place in range(1, 150):
            part[place] = memory * part[place - 1] + noise[place]
        parts.append(part)
    values = np.concatenate(parts)[:, None]
    labels = learn_hmm([values], 2, order=1).filtered(values).argmax(axis=1)
    halves = [labels[20:150], labels[170:300], labels[320:450], labels[470:]]
    shares = [float(part.mean()) for part in halves]
    assert min(abs(shares[0] - shares[1]), abs(shares[2] - shares[3])) > 0.6


def test_a_sample_that_no_state_explains_does_not_break_filtering() -> None:
    found = small().filtered(np.array([[0.1], [1e9], [0.1], [0.2]]))
    assert np.isfinite(found).all()


def test_constant_values_are_learned_without_warnings() -> None:
    model = learn_hmm([np.zeros((50, 1))], 2, order=1)
    assert np.isfinite(model.weights).all()


def test_the_same_seed_gives_the_same_model() -> None:
    values = np.random.default_rng(0).normal(size=(200, 2))
    one, other = (learn_hmm([values], 3, order=1, random_state=5) for _ in range(2))
    assert one.weights.tobytes() == other.weights.tobytes()
