from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import FormatError, ParameterError
from prophase.sim.sweep.plan import SweepPlan, read_plan


def test_cells_are_every_combination_with_the_trace_and_every_seed():
    plan = SweepPlan(["1x8", "2x8"], {"order": ["fifo", "shortest"]}, loads=[0.8, 1.0], seeds=3)
    cells = list(plan.cells())
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 4
    assert {cell.seed for cell in cells} == {0, 1, 2, 3}
    assert dict(cells[0].policy) == {"order": "fifo", "place": "best_fit", "queue": "skip"}


def test_the_key_of_a_cell_changes_with_data_and_every_setting():
    plan = SweepPlan(["1x8", "2x8"], {"order": ["fifo", "shortest"]}, loads=[0.8, 1.0], seeds=3)
    keys = {cell.key(data) for cell in plan.cells() for data in ("one", "two")}
    assert len(keys) == 2 * len(list(plan.cells()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clusters": []}, "cluster: the list of values is empty"),
        ({"policies": {"order": []}}, "order: the list of values is empty"),
        ({"policies": {"order": ["fifo", ""]}}, "extra comma"),
        ({"policies": {"order": ["fifo", "fifo"]}}, "twice"),
        ({"policies": {"ordr": ["fifo"]}}, "Did you mean 'order'"),
        ({"loads": [0.0]}, "above 0"),
        ({"loads": ["much"]}, "above 0"),
        ({"seeds": -1}, "whole number from 0"),
        ({"seeds": 2.5}, "whole number from 0"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        SweepPlan(**settings)


def test_a_plan_is_read_from_a_file(tmp_path: Path):
    path = tmp_path / "plan.toml"
    path.write_text('cluster = ["1x8"]\nload = 1.2\nseeds = 3\n[policy]\norder = ["fifo"]\n')
    plan = SweepPlan(**read_plan(path))
    assert (list(plan.clusters), list(plan.loads), plan.seeds) == (["1x8"], [1.2], 3)


def test_a_plan_file_with_unknown_words_or_no_toml_is_refused(tmp_path: Path):
    path = tmp_path / "plan.toml"
    path.write_text("clusters = 3\n")
    with pytest.raises(ParameterError, match="Did you mean 'cluster'"):
        read_plan(path)
    path.write_text("cluster = [\n")
    with pytest.raises(FormatError, match="not valid TOML"):
        read_plan(path)
