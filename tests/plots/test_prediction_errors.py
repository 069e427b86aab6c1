from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from prophase.plots.prediction_errors import error_cdf, write_error_figures
from prophase.profile.predict.error_tables import error_curve


def answers(value: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"value": value, "abstained": np.isnan(value), "stratum": "seen"})


def test_figures_and_their_numbers_are_written(tmp_path: Path) -> None:
    outcome = np.full(40, 10.0)
    value = np.r_[np.full(20, 10.0), np.full(19, 90.0), np.nan]
    groups = pd.Series(["a"] * 20 + ["b"] * 20)
    told = {"default": answers(value), "global-median": answers(np.full(40, 10.4))}
    told["silent"] = answers(np.full(40, np.nan))
    curves, table = write_error_figures(tmp_path / "f", outcome, told, groups, per="workload")
    assert {path.name for path in (tmp_path / "f").iterdir()} == {
        "error-boxes.csv", "error-boxes.png", "error-boxes.svg",
        "error-cdf.csv", "error-cdf.png", "error-cdf.svg",
    }  # fmt: skip
    assert [curve.method for curve in curves] == ["default", "global-median"]
    assert curves[0].within[5.0] == 20 / 39
    assert curves[1].within == {5.0: 1.0, 20.0: 1.0}
    assert table.iloc[0][["group", "large"]].tolist() == ["b", 19]


def test_exact_and_missing_answers_can_be_drawn() -> None:
    exact = error_curve("exact", np.ones(3), np.ones(3))
    silent = error_curve("silent", np.ones(3), np.full(3, np.nan))
    figure = error_cdf([exact, silent])
    assert len(figure.axes) == 2
    assert error_cdf([]).axes
