"""Ranks are those of scipy, and nothing on the way to a recommendation loads its statistics."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from scipy.stats import rankdata

from prophase.stats.ranks import ranks


def test_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.integers(5, size=40), rng.random(40), np.zeros(3), np.empty(0)):
        assert ranks(values).tolist() == rankdata(values).tolist()


def test_the_recommender_does_not_load_scipy_stats() -> None:
    code = "import prophase.sizing.recommender, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
