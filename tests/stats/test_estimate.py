from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from prophase.stats import Estimate


def test_an_estimate_without_an_interval_holds_nothing():
    found = Estimate(0.3, reason="too short to say: 2 days, at least 3 needed")
    assert not found.known
    assert not found.holds(0.3)
    assert math.isnan(found.half_width)
    assert found.within(0.0, 1.0) == found


def test_a_falling_function_swaps_the_ends():
    found = Estimate(4.0, 2.0, 8.0).mapped(lambda value: 1 / value)
    assert (found.value, found.low, found.high) == (0.25, 0.125, 0.5)
    turned = Estimate(4.0, 2.0, 8.0).scaled(-100)
    assert (turned.value, turned.low, turned.high) == (-400, -800, -200)


def test_ends_are_cut_at_logical_bounds_only():
    found = Estimate(0.9, 0.7, 1.1).within(0.0, 1.0)
    assert (found.low, found.high) == (0.7, 1.0)
    beyond = Estimate(-0.2, -0.4, -0.1).within(0.0, 1.0)
    assert (beyond.low, beyond.high) == (0.0, 0.0)


def test_json_holds_no_nan():
    told = json.loads(json.dumps(Estimate(0.5, reason="why").to_dict(), allow_nan=False))
    assert (told["value"], told["low"], told["high"], told["reason"]) == (0.5, None, None, "why")
    assert Estimate(1.0, 0.0, math.inf).ends() == (0.0, None)
    assert Estimate(1.0, 0.0, 2.0).half_width == pytest.approx(1.0)


def test_statistics_import_without_pandas():
    code = "import sys, prophase.stats; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
