from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import MissingColumnError
from prophase.papers.grid.statistics import MEASURES, compare_with_table_iv, table_iv
from prophase.trace.trace_tables import open_trace


def test_a_table_that_is_no_grid_is_refused() -> None:
    with pytest.raises(MissingColumnError, match="'algorithm'"):
        table_iv(pd.DataFrame({"a": [1]}))


@pytest.mark.data
def test_the_published_cells_give_table_four_but_for_four_numbers(shared_data: Path) -> None:
    grid = open_trace(shared_data / "polaris").tables["clustering_grid"]
    assert len(grid) == 112
    compared = compare_with_table_iv(grid)
    assert len(compared) == 2 * 4 * len(MEASURES)
    agreeing = compared.groupby("algorithm")["agrees"].sum()
    assert agreeing.to_dict() == {"hdbscan": 20, "optics": 16}
    differing = compared[~compared["agrees"]].round(2)
    assert differing[
        ["algorithm", "statistic", "measure", "published", "ours"]
    ].values.tolist() == [
        ["optics", "mean", "silhouette", 0.60, 0.64],
        ["optics", "max", "n_outliers", 98936.0, 98036.0],
        ["optics", "max", "silhouette", 0.81, 0.82],
        ["optics", "std", "silhouette", 0.20, 0.23],
    ]
