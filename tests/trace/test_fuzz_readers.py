"""Broken input gets an answer or an error in words; see ``fuzz_readers.py`` for many more."""

from __future__ import annotations

import pytest
from tests.trace.fuzz_readers import fuzz, fuzz_records


@pytest.mark.parametrize(
    ("name", "inputs"),
    [("manifests", 150), ("scripts", 150), ("job-csv", 300), ("sacct", 3), ("swf", 3), ("csv", 3)],
)
def test_no_input_gives_a_traceback(name: str, inputs: int) -> None:
    found = fuzz(name, inputs, seed=1)
    assert found["examples"] == []


@pytest.mark.parametrize("name", ["sacct", "swf", "csv"])
def test_sound_records_come_out_from_among_broken_ones(name: str) -> None:
    found = fuzz_records(name, 300, seed=1)
    assert found["examples"] == []
    assert found["sound records lost"] == 0
    assert found["files refused"] == 0
