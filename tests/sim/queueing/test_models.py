from __future__ import annotations

import dataclasses

import pytest

from prophase.errors import ParameterError
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.models import MODELS, answer
from prophase.sim.queueing.parsing import parse_class, parse_rate

FITTING = {
    "arrivals_per_s": 4.5,
    "service_mean_s": 1.0,
    "service_s": 1.0,
    "servers": 6,
    "arrival_scv": 2.0,
    "service_scv": 3.0,
    "capacity": 9,
}


@pytest.mark.parametrize("model", MODELS)
def test_every_model_answers_with_units_assumptions_and_validity(model):
    given = {name: FITTING[name] for name in MODELS[model].parameters if name in FITTING}
    if model == "mg1":
        given["arrivals_per_s"] = 0.5
    found = answer(model, **given)
    document = found.to_dict()
    assert found.assumptions
    assert found.valid
    assert 0 <= found.utilisation < 1
    assert document["queue_mean_jobs"] >= 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.model = "other"


@pytest.mark.parametrize("model", [m for m in MODELS if m != "mg1"])
def test_every_model_finds_the_least_servers(model):
    given = {name: FITTING[name] for name in MODELS[model].parameters if name in FITTING}
    del given["servers"]
    target = "blocking < 1%" if MODELS[model].loses else "mean wait < 0.05 s"
    found = answer(model, target=target, **given)
    smaller = {**given, "servers": found.servers - 1}
    if "capacity" in given:
        smaller["capacity"] = max(9, found.servers - 1)
    fewer = answer(model, **smaller)
    if MODELS[model].loses:
        assert found.blocked_share < 0.01 <= fewer.blocked_share
    else:
        assert found.wait_mean_s < 0.05 <= fewer.wait_mean_s


def test_wrong_questions_are_refused_with_what_is_right():
    with pytest.raises(ParameterError, match="Did you mean 'mmc'"):
        answer("mmcc", arrivals_per_s=1, service_mean_s=1, servers=2)
    with pytest.raises(ParameterError, match="mmc needs servers"):
        answer("mmc", arrivals_per_s=1, service_mean_s=1)
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        answer("mmc", arrivals_per_s=1, service_mean_s=1, servers=2, speed=3)
    with pytest.raises(ParameterError, match="leave out servers or target"):
        answer("mmc", arrivals_per_s=1, service_mean_s=1, servers=2, target="mean wait < 1s")
    with pytest.raises(ParameterError, match="turns nobody away"):
        answer("mmc", arrivals_per_s=1, service_mean_s=1, target="blocking < 1%")
    with pytest.raises(ParameterError, match="one server"):
        answer("mg1", arrivals_per_s=0.1, service_mean_s=1, target="mean wait < 1s")


def test_the_facade_hands_over_what_the_model_says():
    assert answer("mmc", arrivals_per_s=4.5, service_mean_s=1.0, servers=6) == mmc(4.5, 1.0, 6)


def test_rates_and_classes_are_read_as_people_write_them():
    assert parse_rate("90 / h", name="x") == 0.025
    assert parse_rate("2/10min", name="x") == pytest.approx(1 / 300)
    one = parse_class("name=a, arrivals=3/h, service=20min, scv=0.5, need=4")
    assert (one.name, one.service_scv, one.need) == ("a", 0.5, 4)
    assert one.offered_load == pytest.approx(4.0)
    for text in ("arrivals=3/h", "arrivals=3,service=1h", "arrivals=3/h,service=1h,gpu=2"):
        with pytest.raises(ParameterError, match="class"):
            parse_class(text)
    with pytest.raises(ParameterError, match="jobs per time"):
        parse_rate("45", name="--arrivals")
