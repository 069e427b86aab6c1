from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prophase.errors import ParameterError, StorageError
from prophase.plots.phase_figures import transition_graph
from prophase.plots.phase_series import phase_colour, plot_phase_boxes, plot_series

VALUES = np.random.default_rng(0).normal(size=(40, 2))
PHASES = np.repeat([-1, 0, 1, 2], 10)


def test_the_four_pictures_have_a_row_per_metric_and_strip() -> None:
    assert len(plot_series(VALUES).axes) == 2
    assert len(plot_series(VALUES, VALUES).axes) == 2
    assert len(plot_series(VALUES, phases=[PHASES]).axes) == 3
    four = plot_series(VALUES, VALUES, phases=[PHASES, PHASES])
    assert len(four.axes) == 4


def test_a_picture_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    plot_series(VALUES, phases=[PHASES], file=tmp_path / "trace.png")
    plot_phase_boxes(VALUES, PHASES, file=tmp_path / "variance.png")
    assert (tmp_path / "trace.png").stat().st_size > 5_000
    assert (tmp_path / "variance.png").stat().st_size > 5_000
    with pytest.raises(StorageError):
        plot_series(VALUES, file=tmp_path / "no" / "trace.png")


def test_phases_and_samples_of_different_number_are_refused() -> None:
    with pytest.raises(ParameterError, match="40 samples and 5 phases"):
        plot_series(VALUES, phases=[PHASES[:5]])
    with pytest.raises(ParameterError, match="3 names"):
        plot_series(VALUES, names=["a", "b", "c"])


def test_a_palette_of_the_user_is_followed_and_other_phases_have_colours() -> None:
    assert phase_colour(0, {0: "grey"}) == "grey"
    assert len({phase_colour(n) for n in range(16)}) == 16


def test_rare_transitions_are_left_out_of_the_graph() -> None:
    moves = np.array([[0.0, 99.0, 1.0], [5.0, 0.0, 5.0], [1.0, 0.0, 0.0]])
    figure = transition_graph(moves, np.array([10.0, 20.0, 5.0]))
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "99 %" in words
    assert "1 %" not in words


@pytest.mark.parametrize(
    ("first", "words", "label"),
    [
        (0.0, ["0 s", "1 h", "2 h", "3 h", "4 h", "5 h"], "time since the first sample"),
        (1_779_537_600.0, ["12:00\n2026-05-23", "13:00", "14:00"], "date and time"),
    ],
)
def test_the_axis_of_a_series_is_its_clock(first: float, words: list[str], label: str) -> None:
    figure = plot_series(np.zeros((301, 1)), time_s=first + 60.0 * np.arange(301))
    axes = figure.axes[-1]
    assert [one.get_text() for one in axes.get_xticklabels()][: len(words)] == words
    assert axes.get_xlabel() == label


def test_a_series_with_a_pause_has_ticks_where_its_samples_are() -> None:
    times = np.concatenate([60.0 * np.arange(100), 86_400.0 + 60.0 * np.arange(100)])
    axes = plot_series(np.zeros((200, 1)), time_s=times).axes[-1]
    assert (np.diff(axes.get_xticks()) > 0.04 * 200).all()
