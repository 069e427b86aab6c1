from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.trace.series.usage_series import series_of


def table(time: list[float], cpu: list[float], name: str = "a") -> pd.DataFrame:
    return pd.DataFrame({"series_id": name, "time_s": time, "cpu": cpu})


def test_unsorted_and_repeated_rows_give_the_series_of_sorted_ones() -> None:
    found = series_of(table([30, 10, 20, 20, 40], [3, 1, 2, 2, 4]))
    assert found.series[0].values.ravel().tolist() == [1, 2, 3, 4]
    assert any("repeats another" in note for note in found.notes)
    assert any("out of order" in note for note in found.notes)


def test_a_pause_starts_a_new_history() -> None:
    found = series_of(table([0, 10, 20, 500, 510], [1, 2, 3, 4, 5]))
    assert found.series[0].begins.tolist() == [True, False, False, True, False]
    assert [len(part) for part in found.stretches()] == [3, 2]


def test_a_missing_value_takes_the_last_one_and_never_the_next() -> None:
    found = series_of(table([0, 10, 20, 30], [np.nan, 2, np.nan, 4]))
    assert found.series[0].values.ravel().tolist() == [2, 2, 4]
    assert found.series[0].time_s.tolist() == [10, 20, 30]


def test_a_long_run_of_missing_values_becomes_a_pause() -> None:
    cpu = [1.0, 2.0] + [np.nan] * 20 + [3.0, 4.0]
    found = series_of(table([10.0 * n for n in range(24)], cpu))
    assert found.series[0].begins.sum() == 2


def test_two_series_with_one_id_and_overlapping_times_are_refused() -> None:
    both = pd.concat([table([0, 10, 20, 30], [1, 2, 3, 4]), table([0, 10, 20, 30], [9, 8, 7, 6])])
    with pytest.raises(InputError, match="two series seem to share this id"):
        series_of(both)


def test_a_series_without_one_of_the_metrics_is_refused_and_the_others_stay() -> None:
    usage = pd.concat([table([0, 10, 20], [1, 2, 3]), table([0, 10], [np.nan, np.nan], "b")])
    found = series_of(usage)
    assert [one.series_id for one in found.series] == ["a"]
    assert found.refused == {"b": "has no value of cpu"}


def test_an_unknown_metric_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(MissingColumnError, match="Did you mean 'cpu'"):
        series_of(table([0, 1], [1, 2]), ["cpus"])


def test_constant_metrics_leave_nothing_to_find() -> None:
    with pytest.raises(InputError, match="cpu are constant"):
        series_of(table([0, 1, 2], [5, 5, 5]))


def test_a_table_without_a_time_is_refused() -> None:
    with pytest.raises(MissingColumnError, match="time_s"):
        series_of(table([0, 1], [1, 2]).drop(columns="time_s"))


def test_infinite_values_count_as_missing() -> None:
    found = series_of(table([0, 10, 20], [1, np.inf, 3]))
    assert found.series[0].values.ravel().tolist() == [1, 1, 3]


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(InputError, match="no metric"):
        series_of(table([], []))


def test_irregular_samples_are_brought_to_one_step_without_looking_ahead() -> None:
    found = series_of(table([0, 7, 12, 31, 33], [1, 3, 5, 7, 9]), step_s=10)
    one = found.series[0]
    assert one.time_s.tolist() == [10, 20, 30, 40]
    assert one.values.ravel().tolist() == [2, 5, 5, 8]


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="step_s"):
        series_of(table([0, 1], [1, 2]), step_s=0)


def test_a_sparse_series_does_not_decide_what_a_pause_is() -> None:
    dense = pd.DataFrame({"series_id": "a", "time_s": np.arange(500) * 60.0, "cpu": np.arange(500)})
    sparse = pd.DataFrame({"series_id": "b", "time_s": np.arange(4) * 2000.0, "cpu": np.arange(4)})
    assert series_of(pd.concat([dense, sparse])).gap_s == 300
    slow = pd.DataFrame({"series_id": "b", "time_s": np.arange(40) * 300.0, "cpu": np.arange(40)})
    assert series_of(pd.concat([dense, slow])).gap_s == 1500
