from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.sim.queueing.mgc import mg1
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.priorities import JobClass, aggregate, priorities, shortest_first

#: the emergency room of Hillier and Lieberman, Introduction to Operations Research: critical,
#: serious and stable patients per hour, each treated in 20 minutes
HOSPITAL = [
    JobClass("critical", 0.2, 1 / 3),
    JobClass("serious", 0.6, 1 / 3),
    JobClass("stable", 1.2, 1 / 3),
]
#: one doctor is busy 1/15, 4/15 and 2/3 of the time with patients of at least that urgency
USED = (Fraction(0), Fraction(1, 15), Fraction(4, 15), Fraction(2, 3))


def test_one_doctor_without_preemption_waits_as_cobham_says():
    found = priorities(HOSPITAL)
    for row, before, after in zip(found.classes, USED[:-1], USED[1:], strict=True):
        wait = Fraction(2, 9) / ((1 - before) * (1 - after))
        assert row.wait_mean_s == pytest.approx(float(wait), abs=1e-9), row.name
    assert found.exact


def test_one_doctor_with_preemption_waits_as_white_and_christie_say():
    # White and Christie (1958): time in the system is 1 / (mu (1 - s_{k-1}) (1 - s_k))
    found = priorities(HOSPITAL, preemptive=True)
    for row, before, after in zip(found.classes, USED[:-1], USED[1:], strict=True):
        inside = Fraction(1, 3) / ((1 - before) * (1 - after))
        assert row.sojourn_mean_s == pytest.approx(float(inside), abs=1e-9), row.name


def test_two_doctors_with_preemption_see_each_urgency_as_if_lesser_ones_were_not_there():
    found = priorities(HOSPITAL, 2, preemptive=True)
    rates = (0.2, 0.8, 2.0)
    inside = [0.0] + [mmc(rate, 1 / 3, 2).system_mean_jobs for rate in rates]
    for row, before, after in zip(found.classes, inside[:-1], inside[1:], strict=True):
        assert row.sojourn_mean_s * row.arrivals_per_s == pytest.approx(after - before, abs=1e-9)


def test_cobham_equals_exact_fractions():
    # Cobham (1954): W_k = W0 / ((1 - s_{k-1}) (1 - s_k)), W0 = sum lambda E[S^2] / 2
    found = priorities([JobClass("a", 0.2, 1.0, 0.0), JobClass("b", 0.25, 2.0, 1.0)])
    residual = (0.2 * 1 + 0.25 * 8) / 2
    assert found.classes[0].wait_mean_s == pytest.approx(residual / 0.8, abs=1e-12)
    assert found.classes[1].wait_mean_s == pytest.approx(residual / (0.8 * 0.3), abs=1e-12)


classes = st.lists(
    st.builds(
        JobClass,
        st.just("c"),
        st.floats(0.01, 1.0),
        st.floats(0.05, 5.0),
        st.floats(0.0, 10.0),
    ),
    min_size=1,
    max_size=5,
)


@given(mix=classes, used=st.floats(0.05, 0.97))
def test_the_sum_of_load_times_wait_is_conserved(mix, used):
    """Kleinrock's conservation law: the order of service does not change the work that waits."""
    total = sum(one.offered_load for one in mix)
    mix = [
        JobClass(one.name, one.arrivals_per_s * used / total, one.service_mean_s, one.service_scv)
        for one in mix
    ]
    everyone = aggregate(mix)
    fifo = mg1(everyone.arrivals_per_s, everyone.service_mean_s, everyone.service_scv)
    for order in (mix, mix[::-1]):
        found = priorities(order)
        work = sum(row.utilisation * row.wait_mean_s for row in found.classes)
        assert work == pytest.approx(used * fifo.wait_mean_s, rel=1e-9)
        waits = [row.wait_mean_s for row in found.classes]
        assert waits == sorted(waits)


@given(servers=st.integers(1, 40), used=st.floats(0.1, 0.97), urgent=st.floats(0.05, 0.95))
def test_several_servers_of_one_rate_are_exact(servers, used, urgent):
    # Kella and Yechiali (1985): W_k = C / (c mu (1 - s_{k-1}) (1 - s_k))
    rate = servers * used
    mix = [JobClass("a", urgent * rate, 1.0), JobClass("b", (1 - urgent) * rate, 1.0)]
    fifo = mmc(rate, 1.0, servers)
    base = fifo.wait_probability / servers
    first, second = priorities(mix, servers).classes
    assert first.wait_mean_s == pytest.approx(base / (1 - urgent * used), rel=1e-9)
    assert second.wait_mean_s == pytest.approx(base / (1 - urgent * used) / (1 - used), rel=1e-9)
    preempted = priorities(mix, servers, preemptive=True)
    alone = mmc(urgent * rate, 1.0, servers)
    assert preempted.classes[0].wait_mean_s == pytest.approx(alone.wait_mean_s, rel=1e-9)
    assert preempted.wait_mean_s == pytest.approx(fifo.wait_mean_s, rel=1e-9)


def test_shortest_first_comes_close_to_phipps_with_many_classes():
    # Phipps (1956), exponential service: W = integral W0 / (1 - rho(x))**2 f(x) dx
    load = 0.9
    x = np.linspace(1e-4, 40, 400_000)
    below = load * (1 - np.exp(-x) * (1 + x))
    exact = np.trapezoid(load / (1 - below) ** 2 * np.exp(-x), x)
    sizes = -np.log1p(-(np.arange(200_000) + 0.5) / 200_000)
    found = shortest_first(load, sizes, classes=400)
    assert found.wait_mean_s == pytest.approx(exact, rel=0.01)
    assert found.wait_mean_s < found.fifo_wait_mean_s


def test_aggregation_keeps_rate_load_and_second_moment():
    mix = [JobClass("a", 1.0, 2.0, 0.5), JobClass("b", 3.0, 1.0, 4.0)]
    one = aggregate(mix)
    assert one.offered_load == pytest.approx(5.0)
    assert one.arrivals_per_s * one.service_second_s2 == pytest.approx(1 * 6 + 3 * 5)


def test_bad_classes_are_refused():
    with pytest.raises(ParameterError, match="no classes"):
        priorities([])
    with pytest.raises(ParameterError, match="At least 3 servers"):
        priorities([JobClass("a", 2.0, 1.0)], 2)
    with pytest.raises(ParameterError, match="none negative"):
        shortest_first(1.0, np.array([1.0, -1.0]))
