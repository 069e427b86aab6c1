from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.trace.synth.pai import make_pai
from prophase.trace.synth.pai_published_figures import (
    FIGURES,
    compare_with_published,
    measured,
    run_differences,
)
from prophase.trace.trace_tables import open_trace


@pytest.mark.parametrize("seed", range(4))
def test_every_published_figure_is_met_within_its_tolerance(seed: int) -> None:
    table = compare_with_published(make_pai(jobs=30_000, random_state=seed))
    outside = table[~table["within"]]
    assert outside.empty, outside.to_string()


def test_two_runs_differ_as_much_as_on_the_real_rows() -> None:
    differences = run_differences(make_pai(jobs=60_000, random_state=9).jobs)
    assert len(differences) > 20_000
    for at_most, share in ((0.05, 0.21), (0.2, 0.60), (0.5, 0.81)):
        assert abs((differences <= at_most).mean() - share) < 0.025


def test_the_tolerances_are_tight_enough_to_notice_another_world() -> None:
    trace = make_pai(jobs=5_000)
    jobs = trace.jobs.assign(
        request_cpu_cores=2.0, wait_s=1.0, gpu_util_mean_pct=50.0, gang_size=1.0
    )
    seen = measured(jobs)
    outside = [f.name for f in FIGURES if not abs(seen[f.name] - f.published) <= f.tolerance]
    assert {"CPU request, p95", "GPU use, median", "gang-scheduled instances"} <= set(outside)
    assert {"wait for V100, p90", "GPU request above use"} <= set(outside)


def test_a_table_without_the_columns_has_missing_figures() -> None:
    seen = measured(pd.DataFrame({"job_id": ["a"], "workload": ["bert"]}))
    assert seen["workload bert"] == 100
    assert all(pd.isna(seen[name]) for name in ("CPU request, p95", "wait for V100, p90"))


@pytest.mark.data
def test_the_comparison_shows_the_real_sample_beside(shared_data: Path) -> None:
    real = open_trace(shared_data / "pai", source="pai2020").jobs
    assert len(real) == 999
    table = compare_with_published(make_pai(jobs=20_000), real).set_index("figure")
    sampled = table[table["source"] == "999 rows"]
    assert len(sampled) == 7
    # the same measures on the real rows give the published ones, and so do ours
    difference = (sampled["real"] - sampled["published"]).abs()
    assert (difference <= sampled["tolerance"] * 1.6).all(), sampled.to_string()
    assert sampled["within"].all()
    assert table.loc["GPU request, median", "real"] == 0.5


@pytest.mark.data
def test_durations_spread_like_the_real_ones(shared_data: Path) -> None:
    real = open_trace(shared_data / "pai", source="pai2020").jobs["duration_s"].dropna()
    ours = make_pai(jobs=30_000).jobs["duration_s"].dropna()
    for share in (0.25, 0.5, 0.75, 0.9, 0.95, 0.99):
        assert 0.4 < ours.quantile(share) / real.quantile(share) < 2.0


def as_markdown(table: pd.DataFrame) -> list[str]:
    """The lines of the comparison in the documentation."""

    def shown(value: float) -> str:
        if pd.isna(value):
            return "-"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"

    return [
        f"| {row.figure} | {row.unit} | {row.source} | {shown(row.published)} | "
        f"{shown(row.real)} | {shown(row.synthetic)} | {shown(row.tolerance)} |"
        for row in table.itertuples()
    ]


@pytest.mark.data
def test_the_documentation_shows_the_comparison_as_it_is(shared_data: Path) -> None:
    real = open_trace(shared_data / "pai", source="pai2020").jobs
    table = compare_with_published(make_pai(jobs=100_000), real)
    assert table["within"].all()
    page = Path(__file__).parents[3] / "docs" / "explain" / "synthetic-traces.md"
    text = page.read_text(encoding="utf-8")
    lines = as_markdown(table)
    assert [line for line in lines if line not in text] == [], "\n".join(lines)
