from __future__ import annotations

import math

import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.elastic import Elastic
from prophase.sim.rules.parsing import as_rule, number_column

JOBS = pd.DataFrame(
    {
        "job_id": ["a", "b"],
        "submit_s": [0.0, 0.0],
        "duration_s": [60.0, 60.0],
        "request_gpus": [1.0, 1.0],
        "user": ["ann", "bob"],
        "queue": ["q", "q"],
        "time_limit_s": [90.0, 90.0],
        "attr_parents": ["", "a"],
        "attr_think_s": ["", "soon"],
        "attr_min_workers": ["few", ""],
    }
)


def test_numbers_out_of_bounds_are_refused_with_their_row_and_what_to_write():
    table = pd.DataFrame({"gpus": [4.0, -1.0]})
    with pytest.raises(InputError, match=r"gpus of row 2 is -1\. Write .* of at least 0\."):
        number_column(table, "gpus", "quotas", least=0)
    with pytest.raises(
        InputError, match=r"share of row 1 is empty\. Write a finite number above 0"
    ):
        number_column(pd.DataFrame({"share": [None]}), "share", "shares", above=0)
    with pytest.raises(InputError, match="a finite number"):
        number_column(pd.DataFrame({"share": [math.inf]}), "share", "shares")


BROKEN = {
    "reservations": ({"from_s": ["x"], "to_s": [9], "nodes": [1], "user": ["ann"]}, "from_s"),
    "calendar": ({"from_s": [0], "to_s": ["x"], "share": [0.5]}, "to_s"),
    "quotas": ({"user": ["ann"], "gpus": ["x"]}, "gpus"),
    "cohorts": ({"queue": ["q"], "gpus": [8], "borrow": ["x"]}, "borrow"),
    "shares": ({"user": ["ann"], "share": ["x"]}, "share"),
    "hours": ({"from_s": [0], "to_s": [9], "longest_s": ["x"]}, "longest_s"),
    "speeds": ({"table": {"gpu_type": ["*"], "speed": ["x"]}}, "speed"),
    "share": ({"table": {"kind": ["a"], "neighbour": ["b"], "speed": ["x"]}}, "speed"),
    "elastic": ({"table": {"workers": [1], "speedup": ["x"]}}, "speedup"),
    "demand": ({"table": {"job_id": ["a"], "after_s": [0], "memory_gib": ["x"]}}, "memory_gib"),
    "defer": ({"table": {"time_s": [0, 9], "g_per_kwh": [1, "x"]}}, "g_per_kwh"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_word_in_the_table_of_any_rule_is_named_and_not_taken_for_missing(rule, tmp_path):
    columns, column = BROKEN[rule]
    inner = "table" in columns
    path = tmp_path / "rule.csv"
    pd.DataFrame(columns["table"] if inner else columns).to_csv(path, index=False)
    value = f"table={path}" if inner else pd.read_csv(path)
    order = "fair_share" if rule == "shares" else "fifo"
    jobs = JOBS.drop(columns="attr_min_workers")
    with pytest.raises(InputError, match=f"{column} of .* is 'x'. Write a"):
        simulate(Workload.from_jobs(jobs), Cluster.parse("2x1"), order=order, **{rule: value})


def test_words_in_columns_of_jobs_that_rules_read_are_named():
    workload, cluster = Workload.from_jobs(JOBS), Cluster.parse("2x1")
    with pytest.raises(InputError, match="attr_think_s of job b is 'soon'"):
        simulate(workload, cluster, depends="column=attr_parents,think=attr_think_s")
    with pytest.raises(InputError, match="attr_min_workers of job a is 'few'"):
        simulate(workload, cluster, elastic="min=1,max=2")


@pytest.mark.parametrize(("value", "words"), [
    ("min=1,max=nan", "max = 'nan' is not understood: write a whole number"),
    ("min=1,max=2.5", "max = '2.5' is not understood: write a whole number"),
    ("serial=nan", "serial = 'nan' is not understood: write a number"),
    ("serial=half", "serial = 'half' is not understood: write a number"),
])  # fmt: skip
def test_what_is_no_number_is_told_in_plain_words(value: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        as_rule(Elastic, value, "elastic")


def test_parents_are_found_under_the_name_that_the_column_had_before_it_was_imported():
    named = JOBS.rename(columns={"attr_parents": "after_waits_for"})
    workload, cluster = Workload.from_jobs(named), Cluster.parse("2x1")
    for name in ("waits_for", "Waits For", "after_waits_for"):
        assert simulate(workload, cluster, depends=name).start_s.tolist() == [0.0, 60.0]
    with pytest.raises(InputError, match="no column parents"):
        simulate(workload, cluster, depends="parents")
