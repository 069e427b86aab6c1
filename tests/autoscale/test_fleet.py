from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.autoscale.fleets import plateaus, usage_of

from prophase.autoscale.fleet import fleet_of
from prophase.errors import InputError, MissingColumnError, ParameterError


def usage(**columns):
    rows = len(next(iter(columns.values())))
    return pd.DataFrame({"series_id": "a", "time_s": np.arange(rows) * 60.0, **columns})


def test_a_table_becomes_the_fleet_it_was_written_from():
    fleet = plateaus(series=3, samples=40)
    found, notes = fleet_of(usage_of(fleet), "memory_gib")
    assert found.series == fleet.series
    np.testing.assert_array_equal(found.use, fleet.use)
    assert notes == ()


def test_memory_is_allocated_if_no_metric_is_named():
    table = usage(cpu_cores=np.arange(20.0), memory_gib=np.arange(20.0))
    assert fleet_of(table)[0].metric == "memory_gib"


def test_an_unknown_metric_is_answered_with_the_known_ones():
    with pytest.raises(MissingColumnError, match=r"no metric 'memory'.*Known: memory_gib"):
        fleet_of(usage(memory_gib=np.arange(20.0)), "memory")


def test_series_of_fewer_samples_than_a_decision_are_refused():
    with pytest.raises(InputError, match="6 are needed"):
        fleet_of(usage(memory_gib=[1.0, 2.0, 1.0]))


def test_a_metric_without_values_is_refused():
    with pytest.raises(InputError, match="memory_gib has no value"):
        fleet_of(usage(memory_gib=[np.nan] * 9, cpu_cores=np.arange(9.0)), "memory_gib")


def test_a_run_of_missing_values_starts_a_new_run():
    use = np.arange(60.0)
    use[20:35] = np.nan
    fleet, notes = fleet_of(usage(memory_gib=use))
    assert fleet.lengths.tolist() == [20, 25]
    assert fleet.series == ["a"]
    assert any("starts a new history" in note for note in notes)


def test_two_series_of_one_name_and_time_are_refused():
    one = usage(memory_gib=np.arange(20.0))
    two = one.assign(memory_gib=one["memory_gib"] + 5)
    with pytest.raises(InputError, match="share this id"):
        fleet_of(pd.concat([one, two]))


def test_a_table_without_series_says_so():
    with pytest.raises(MissingColumnError, match="series_id"):
        fleet_of(pd.DataFrame({"time_s": [0.0], "memory_gib": [1.0]}))


def test_negative_readings_count_as_none():
    fleet, _ = fleet_of(usage(memory_gib=[-1e-9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert fleet.use.min() == 0


def test_no_samples_between_decisions_are_refused():
    with pytest.raises(ParameterError, match="every is 0"):
        fleet_of(usage(memory_gib=np.arange(20.0)), every=0)


def test_other_metrics_are_kept_and_carried_over_short_holes():
    cores = np.arange(30.0)
    cores[3:5], cores[10:25] = np.nan, np.nan
    fleet, _ = fleet_of(usage(memory_gib=np.arange(30.0), cpu_cores=cores, nodes=1.0), "memory_gib")
    found = fleet.others["cpu_cores"]
    assert found[2:6].tolist() == [2.0, 2.0, 2.0, 5.0]
    assert np.isnan(found[15:25]).all()
    assert list(fleet.others) == ["cpu_cores"]
    assert fleet.parts([slice(5, 9)], ["a"]).others["cpu_cores"].tolist() == [5.0, 6.0, 7.0, 8.0]


def test_other_metrics_belong_to_their_samples_when_rows_are_unsorted():
    table = usage(memory_gib=np.arange(40.0), cpu_cores=np.arange(40.0) * 2)
    fleet, _ = fleet_of(table.sample(frac=1, random_state=0), "memory_gib")
    np.testing.assert_array_equal(fleet.others["cpu_cores"], fleet.use * 2)
