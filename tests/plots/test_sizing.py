from __future__ import annotations

from prophase.plots.sizing import cold_start, frontier


def test_each_sizer_has_a_line_of_the_cold_start() -> None:
    points = [{"seen": 0, "relative": 1.0}, {"seen": 5, "relative": 0.2}]
    axes = cold_start({"default": points, "krr": points}).axes[0]
    assert len(axes.lines) == 2


def test_the_frontier_marks_other_sizers() -> None:
    line = [{"oom_share": 0.01, "relative": 0.2}, {"oom_share": 0.05, "relative": 0.1}]
    axes = frontier({"default": line}, {"krr": {"oom_share": 0.01, "relative": 0.4}}).axes[0]
    assert len(axes.lines) == 2
