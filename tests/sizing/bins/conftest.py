from __future__ import annotations

import pandas as pd
import pytest

from prophase.trace.synth.pipeline import make_pipeline


@pytest.fixture(scope="session")
def pipeline() -> pd.DataFrame:
    """The synthetic pipeline whose heavy tasks come closest to the thesis' Table 6."""
    return make_pipeline(random_state=112).jobs


@pytest.fixture(scope="session")
def heavy(pipeline: pd.DataFrame) -> pd.DataFrame:
    return pipeline[pipeline["task"] == "predict_demand"].reset_index(drop=True)
