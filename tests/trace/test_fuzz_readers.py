"""Broken input gets an answer or an error in words; see ``fuzz_readers.py`` for many more."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.trace.fuzz_readers import READERS, fuzz, fuzz_records

from prophase.errors import ProphaseError


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("manifests", 150),
        ("scripts", 150),
        ("job-csv", 300),
        ("sacct-json-rows", 300),
        ("sacct", 3),
        ("sacct-json", 2),
        ("swf", 3),
        ("csv", 3),
    ],
)
def test_no_input_gives_a_traceback(name: str, inputs: int) -> None:
    found = fuzz(name, inputs, seed=1)
    assert found["examples"] == []


@pytest.mark.parametrize("name", ["sacct", "sacct-json", "swf", "csv"])
def test_sound_records_come_out_from_among_broken_ones(name: str) -> None:
    found = fuzz_records(name, 300, seed=1)
    assert found["examples"] == []
    assert found["sound records lost"] == 0
    assert found["files refused"] == 0


@pytest.mark.parametrize(
    ("sound", "odd"),
    [
        ("cpu: 4, memory", "cpu: 4,4, memory"),
        ("{team: nlp}", "{4: nlp}"),
        ("      containers", "      nodeSelector: {4: x}\n      containers"),
    ],
)
def test_a_number_as_a_name_is_no_trouble(tmp_path: Path, sound: str, odd: str) -> None:
    text, reader = READERS["manifests"]
    assert sound in text
    with contextlib.suppress(ProphaseError):
        reader()(tmp_path, text.replace(sound, odd))
