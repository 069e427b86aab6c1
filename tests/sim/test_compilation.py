"""Kernels are compiled once, when they are needed; what runs as plain Python decides the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from tests.oracles import scenarios as s

from prophase.sim import compilation, simulate
from prophase.sim.array_groups import held
from prophase.sim.kernels.score_trees import PlaceRules
from prophase.sim.signatures import FLOAT

RULES = (s.ladder, s.quotas, s.outages, s.scaling)


def decisions(scenario):
    attempts = simulate(scenario.workload(), scenario.cluster(), **scenario.settings).attempts
    names = ("job", "start_s", "end_s", "outcome", "node", "gpu_bits", "lost_s")
    return {name: np.asarray(getattr(attempts, name)).tobytes() for name in names}


def decides_the_same_as_python(scenario):
    compiled = decisions(scenario)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "FEW", 1 << 60)
        patch.setattr(compilation, "is_compiled", lambda kernel: False)
        assert decisions(scenario) == compiled


@settings(max_examples=30)
@given(s.scenarios(s.planning, s.any_order, *RULES, most_jobs=20))
def test_plain_python_plans_as_the_compiled_loop_does(scenario):
    decides_the_same_as_python(scenario)


@settings(max_examples=30)
@given(s.scenarios(s.queue, s.preemption, s.any_order, s.sharing, s.speeds, *RULES, most_jobs=20))
def test_plain_python_preempts_and_shares_as_the_compiled_loop_does(scenario):
    decides_the_same_as_python(scenario)


@settings(max_examples=30)
@given(s.scenarios(s.queue, s.static_order, most_jobs=30))
def test_plain_python_queues_as_the_static_loop_does(scenario):
    decides_the_same_as_python(scenario)


def test_a_constant_argument_makes_no_function_of_its_own():
    @compilation.njit()
    def scaled(value, factor):
        return value * factor

    @compilation.njit()
    def both(value, factor):
        return scaled(value, factor) + scaled(value, 2)

    assert both(3, 4) == 18
    assert len(scaled.signatures) == 1


def test_a_function_with_a_signature_is_compiled_when_first_called_and_takes_what_converts():
    @compilation.njit(FLOAT(FLOAT))
    def half(value):
        return value / 2

    assert not half.signatures
    assert half(3) == 1.5
    assert half.signatures == [(FLOAT,)]
    with pytest.raises(TypeError, match="No matching definition"):
        half("three")


def test_an_array_of_another_type_than_the_compiled_code_expects_is_refused():
    with pytest.raises(TypeError, match="facts is int64, 1-dimensional"):
        held(PlaceRules(np.zeros(3, np.int64), False, False))
    narrow = np.zeros((2, 4))[:, ::2]
    with pytest.raises(TypeError, match="facts"):
        held(PlaceRules(narrow, False, False))


def test_a_replay_loads_no_linear_algebra_and_others_still_have_it():
    script = """
import sys
import numba, numpy as np, pandas as pd
from prophase.sim import Cluster, Workload, compilation, simulate
compilation.FEW = -1
jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [5.0]})
jobs["request_gpus"] = 1.0
simulate(Workload.from_jobs(jobs), Cluster.uniform(1, 8))
assert "scipy.linalg" not in sys.modules
product = numba.njit(lambda a, b: np.dot(a, b))
assert product(np.ones(3), np.ones(3)) == 3.0
"""
    subprocess.run([sys.executable, "-c", script], check=True)
