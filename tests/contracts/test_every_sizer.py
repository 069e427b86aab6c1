"""What every sizer promises, whichever it is."""

from __future__ import annotations

import math

import pytest

from prophase.errors import ParameterError
from prophase.sizing import SIZERS, make_online_sizer

ASKED = {
    "workflow": "w", "tag": "s1", "cpus": 2.0, "request_gib": 16.0, "time_limit_h": 4.0,
    "submit_s": 0.0, "input_gib": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZERS)
@pytest.mark.parametrize("risk", [None, 0.05])
def test_every_sizer_answers_learns_and_retries_upwards(name: str, risk: float | None) -> None:
    sizer = make_online_sizer(name, risk)
    for number in range(30):
        features = {**ASKED, "tag": f"s{number}", "input_gib": 1.0 + number % 7}
        asked = sizer.predict("align", features)
        assert math.isfinite(asked)
        assert asked > 0
        assert sizer.retry("align", features, 2, asked) > asked
        sizer.observe("align", features, asked / 2, 0.2, True)
        post = {**features, "post": {"rchar": 1e9, "wchar": 2e9}}
        sizer.observe("align", post, 2.0 + number % 7, 0.2, False)


@pytest.mark.parametrize("name", SIZERS)
def test_every_sizer_has_an_answer_for_a_task_it_never_met(name: str) -> None:
    assert make_online_sizer(name).predict("new", {"request_gib": 8.0}) == 8.0
    assert make_online_sizer(name).predict("new", {}) > 0


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'maximum'"):
        make_online_sizer("maximun")


@pytest.mark.parametrize("risk", [0.0, 1.0, 1.5, -0.1])
def test_a_risk_outside_its_range_is_refused(risk: float) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        make_online_sizer(risk=risk)
