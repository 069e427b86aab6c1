from __future__ import annotations

import pytest

from prophase.trace.schema import JOBS, NODES, SCHEMAS, USAGE, known_at_submit

_UNIT_SUFFIXES = {
    "s": "_s",
    "GiB": "_gib",
    "cores": "_cores",
    "%": "_pct",
    "GPUs": "gpus",
    "bytes": "_bytes",
    "bytes/s": "_bytes_per_s",
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_unit_stands_in_the_columns_name(schema):
    for column in schema:
        if column.unit:
            assert column.name.endswith(_UNIT_SUFFIXES[column.unit]), column


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_column_says_what_it_means(schema):
    assert all(column.text for column in schema)
    assert len(set(schema.names)) == len(schema.names)


def test_results_of_a_run_are_never_inputs():
    after = {"duration_s", "end_s", "start_s", "wait_s", "status", "memory_peak_gib"}
    assert not after & set(known_at_submit(JOBS.names))


def test_free_columns_are_marked_by_their_prefix():
    assert known_at_submit(["attr_batch_size", "after_node"]) == ["attr_batch_size"]
    assert JOBS.get("attr_") is None
    assert JOBS.get("colour") is None
    assert NODES.get("after_x") is None


def test_usage_takes_any_metric():
    metric = USAGE.get("pending_gpus")
    assert metric is not None
    assert metric.kind == "number"
