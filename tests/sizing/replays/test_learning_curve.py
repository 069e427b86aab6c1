from __future__ import annotations

import pytest

from prophase.errors import InputError, ParameterError
from prophase.plots.learning_curves import learning_figure
from prophase.sizing import make_online_sizer
from prophase.sizing.replays.learning_curve import curve_since, learning_curve
from prophase.sizing.replays.replay import replay
from prophase.sizing.replays.task_runs import TaskRun


def _runs(peaks: list[float], task: str = "align") -> list[TaskRun]:
    told = {"request_gib": 16.0}
    return [
        TaskRun(task, told, {}, peak, 1.0, 16.0, float(n), float(n), n + 0.5)
        for n, peak in enumerate(peaks)
    ]


def test_requests_narrow_after_the_first_run():
    found = replay(_runs([4.0] * 10), make_online_sizer("maximum"))
    curve = learning_curve(found.decisions, steps=(1, 3, 10)).set_index("last_run")
    assert curve.loc[1, "asked_over_peak"] == 4.0
    assert curve.loc[10, "asked_over_peak"] == pytest.approx(1.1)
    assert curve.loc[1, "waste_of_request"] == 1.0
    assert curve["decisions"].tolist() == [1, 2, 7]


def test_each_task_is_counted_by_itself():
    runs = [*_runs([4.0] * 2), *_runs([1.0] * 2, "sort")]
    curve = learning_curve(replay(runs, make_online_sizer("request")).decisions, steps=(1, 2))
    assert curve["decisions"].tolist() == [2, 2]


def test_a_change_shows_as_kills_after_it_and_none_before():
    found = replay(_runs([4.0] * 30 + [6.4] * 30), make_online_sizer("maximum"))
    curve = curve_since(found.decisions, "align", 30.0, steps=(1, 30))
    assert curve["killed_pct"].tolist() == [0.0, 100.0, 0.0]
    assert curve["first_run"].tolist() == [-29, 1, 2]


def test_a_moment_with_nothing_on_one_side_is_refused():
    found = replay(_runs([4.0] * 3), make_online_sizer("request"))
    with pytest.raises(InputError, match="3 runs before the moment 99 and 0 after"):
        curve_since(found.decisions, "align", 99.0)


def test_steps_have_to_rise():
    with pytest.raises(ParameterError, match="rising run numbers"):
        learning_curve([], steps=(3, 1))


def test_curves_are_drawn_with_what_was_before_the_change():
    found = replay(_runs([4.0] * 30 + [6.4] * 30), make_online_sizer("maximum"))
    curve = curve_since(found.decisions, "align", 30.0, steps=(1, 5, 30))
    figure = learning_figure({"maximum": curve}, title="change", changed=True)
    words = [word.get_text() for word in figure.axes[0].get_xticklabels()]
    assert words[0] == "before"
    assert len(figure.axes) == 2
