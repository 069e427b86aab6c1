"""Small series that every test of phases can share."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.phase.made_series import steps, usage_of

from prophase.phase.detector import PhaseDetector


@pytest.fixture(scope="session")
def levels_usage() -> pd.DataFrame:
    """Four series that go through three levels in a fixed order."""
    return usage_of({f"s{n}": steps([1.0, 4.0, 7.0] * 3, seed=n) for n in range(4)})


@pytest.fixture(scope="session")
def detector(levels_usage: pd.DataFrame) -> PhaseDetector:
    """Three phases, found by the default labeller with their number given."""
    return PhaseDetector(n_phases=3, window=1).fit(levels_usage)
