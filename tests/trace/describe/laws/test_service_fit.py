"""Laws of the run time: each is recognised in its own sample, and wrong ones are called bad."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.laws.hyperexponential import Hyperexponential2, Hyperexponential3
from prophase.trace.describe.laws.probability_laws import (
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Lomax,
    Pareto,
    Weibull,
)
from prophase.trace.describe.laws.service_fit import SERVICE_LAWS, ServiceLaws, fit_service

TRUTHS: list[Law] = [
    Exponential(100.0),
    Lognormal(600.0, 1.8),
    Weibull(300.0, 0.5),
    Gamma(100.0, 0.4),
    Hyperexponential2(0.8, 10.0, 1000.0),
    Hyperexponential3(0.5, 0.4, 5.0, 200.0, 20_000.0),
    Lomax(60.0, 1.5),
    Pareto(10.0, 1.5),
]
NAMES = [law.name for law in TRUTHS]


@pytest.fixture(scope="module")
def fitted() -> dict[str, ServiceLaws]:
    found = {}
    for seed, truth in enumerate(TRUTHS):
        result = fit_service(truth.sample(8000, np.random.default_rng(seed)))
        assert isinstance(result, ServiceLaws)
        found[truth.name] = result
    return found


@pytest.mark.parametrize("truth", TRUTHS, ids=NAMES)
def test_a_sample_of_a_law_is_recognised_with_parameters_near_the_truth(
    truth: Law, fitted: dict[str, ServiceLaws]
) -> None:
    fit = next(fit for fit in fitted[truth.name].fits if fit.law == truth.name)
    # a law that contains the true one may be ahead by chance, never by much
    assert fit.aic_above_best < 4
    assert fit.verdict == "good"
    assert fit.p_value > 0.01
    assert fit.ks < 0.02
    for name, value in truth.parameters.items():
        assert fit.parameters[name] == pytest.approx(value, rel=0.15), name


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        ("lognormal", "exponential"),
        ("Weibull", "Pareto"),
        ("hyper-exponential (2)", "lognormal"),
        ("hyper-exponential (2)", "Weibull"),
        ("Pareto", "gamma"),
        ("Pareto II (Lomax)", "exponential"),
        ("exponential", "Pareto"),
        ("gamma", "exponential"),
    ],
)
def test_a_wrong_law_is_said_to_be_bad(
    truth: str, wrong: str, fitted: dict[str, ServiceLaws]
) -> None:
    fit = next(fit for fit in fitted[truth].fits if fit.law == wrong)
    assert fit.verdict == "bad"
    assert "badly" in fit.words
    assert fit.p_value <= 0.02


def test_a_law_whose_tail_is_off_is_never_good() -> None:
    values = Lognormal(150.0, 2.2).sample(5000, np.random.default_rng(3))
    found = fit_service(values, laws=[Lomax])
    assert isinstance(found, ServiceLaws)
    lomax = found.best
    assert lomax.ks < 0.05
    assert lomax.p99_ratio > 2
    assert lomax.verdict == "rough"
    assert "longest 1 %" in lomax.words


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (Exponential(3.0), stats.expon(scale=3.0)),
        (Lognormal(5.0, 0.7), stats.lognorm(0.7, scale=5.0)),
        (Weibull(4.0, 0.6), stats.weibull_min(0.6, scale=4.0)),
        (Gamma(2.0, 3.5), stats.gamma(3.5, scale=2.0)),
        (Pareto(2.0, 2.5), stats.pareto(2.5, scale=2.0)),
        (Lomax(2.0, 2.5), stats.lomax(2.5, scale=2.0)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_density_share_and_quantile_agree_with_scipy(law: Law, reference: object) -> None:
    values = np.array([2.5, 3.0, 10.0, 40.0])
    shares = np.array([0.1, 0.5, 0.99])
    np.testing.assert_allclose(law.log_density(values), reference.logpdf(values), rtol=1e-9)
    np.testing.assert_allclose(law.share_below(values), reference.cdf(values), rtol=1e-9)
    np.testing.assert_allclose(law.quantile(shares), reference.ppf(shares), rtol=1e-9)
    assert law.mean == pytest.approx(reference.mean())


@pytest.mark.parametrize("law", TRUTHS, ids=NAMES)
def test_quantiles_invert_shares(law: Law) -> None:
    shares = np.array([0.001, 0.25, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(law.share_below(law.quantile(shares)), shares, rtol=1e-6)


def test_the_weibull_and_gamma_fits_agree_with_scipys() -> None:
    values = np.random.default_rng(5).weibull(0.7, 3000) * 50
    shape, _, scale = stats.weibull_min.fit(values, floc=0)
    found = Weibull.fit(values)
    assert (found.shape, found.scale_s) == pytest.approx((shape, scale), rel=1e-3)
    shape, _, scale = stats.gamma.fit(values, floc=0)
    other = Gamma.fit(values)
    assert (other.shape, other.scale_s) == pytest.approx((shape, scale), rel=1e-3)


def test_the_hyper_exponential_mean_is_the_mean_of_the_values() -> None:
    values = np.random.default_rng(5).lognormal(3, 2, 20_000)
    assert Hyperexponential3.fit(values).mean == pytest.approx(values.mean(), rel=1e-3)


def test_power_laws_with_a_heavy_tail_have_no_mean() -> None:
    assert Pareto(1.0, 0.9).mean == np.inf
    assert Lomax(1.0, 1.0).mean == np.inf


def test_zeros_and_missing_values_are_left_out_and_counted() -> None:
    drawn = np.random.default_rng(2).exponential(10, 500)
    found = fit_service(np.r_[drawn, np.zeros(7), np.full(3, np.nan)])
    assert isinstance(found, ServiceLaws)
    assert (found.positive, found.zeros, found.missing) == (500, 7, 3)


def test_a_large_trace_is_fitted_on_a_seeded_sample() -> None:
    values = np.random.default_rng(2).exponential(10, 3000)
    first = fit_service(values, sample=1000, random_state=4, laws=SERVICE_LAWS[:3])
    again = fit_service(values, sample=1000, random_state=4, laws=SERVICE_LAWS[:3])
    other = fit_service(values, sample=1000, random_state=5, laws=SERVICE_LAWS[:3])
    assert isinstance(first, ServiceLaws)
    assert (first.fitted, first.positive) == (1000, 3000)
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.zeros(50), "0 durations above zero are known"),
        (np.full(3, 5.0), "3 durations above zero are known"),
        (np.full(50, 5.0), "1 distinct value"),
        (np.r_[np.full(50, 5.0), np.full(50, 6.0)], "2 distinct values"),
        (np.full(9, np.nan), "0 durations above zero are known"),
    ],
)
def test_values_without_a_shape_give_a_reason_instead_of_a_law(
    values: np.ndarray, reason: str
) -> None:
    found = fit_service(values)
    assert isinstance(found, NotComputable)
    assert reason in found.reason


def test_absurd_values_do_not_crash_a_fit() -> None:
    values = 10.0 ** np.random.default_rng(1).uniform(-290, 290, 300)
    found = fit_service(values)
    assert isinstance(found, ServiceLaws | NotComputable)
