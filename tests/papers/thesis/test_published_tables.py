from __future__ import annotations

import pytest

from prophase.papers.thesis import published_tables as published
from prophase.papers.thesis.published_tables import table_11, table_12, table_13


@pytest.mark.parametrize("key", list(published.TABLE_11))
def test_every_estimate_of_table_11_comes_out_of_its_inputs(key):
    assert round(table_11()[key], 1) == published.TABLE_11[key].estimated


def test_table_12_comes_out_up_to_the_rounding_of_its_amounts():
    for kind, improved in table_12().items():
        assert improved == pytest.approx(published.TABLE_12[kind].improved, abs=0.15)


def test_a_run_asks_for_1520_gb_before_and_325_after():
    memory = table_13()["memory"]
    assert (memory.before, round(memory.after)) == (1520, 325)
    assert round(memory.improved_pct, 1) == 78.6
    # 17 light, 8 moderate, two heavy tasks
    assert memory.after == pytest.approx(85 + 160 + 50.05 + 30.3, abs=0.01)


def test_a_run_asks_for_132_cores_before_and_43_after():
    cpu = table_13()["cpu"]
    assert (cpu.before, cpu.after) == (132, 43)
    assert round(cpu.improved_pct, 1) == 67.4
