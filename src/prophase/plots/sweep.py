"""Write a sweep: ranked tables, the Pareto figure and the report, from its cells alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from prophase.errors import storage_error
from prophase.plots.pareto import pareto_figure
from prophase.plots.report.writing import write_report
from prophase.plots.style import save
from prophase.sim.sweeping.reading import KeptSweep
from prophase.study.sweeps import sweep_report


def write_sweep(kept: KeptSweep, folder: Path) -> pd.DataFrame:
    """Write ``results.csv``, ``.parquet``, ``pareto.png``, ``.svg`` and the report; return ranks.

    The figure needs two measures.
    """
    ranked = kept.result.ranked(kept.measures)
    try:
        ranked.to_csv(folder / "results.csv", index=False)
        ranked.to_parquet(folder / "results.parquet", index=False)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    figure = None
    if len(kept.measures) > 1:
        save(pareto_figure(ranked, kept.result.axes, kept.measures), folder, "pareto")
        figure = pareto_figure(ranked, kept.result.axes, kept.measures)
    write_report(sweep_report(kept, ranked, figure), folder)
    return ranked
