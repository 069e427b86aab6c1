"""Readers parse whole columns with expressions of their own; they mean what ``units`` means."""

from __future__ import annotations

import ibis
import pandas as pd
import pytest

from prophase import units
from prophase.errors import ParameterError
from prophase.trace.readers import nextflow
from prophase.trace.readers import sacct_cells as slurm_text
from prophase.trace.text_formats import TEXT_FORMS, elapsed_s

CLOCKS = [
    "5-00:00:26",
    "00:07:00",
    "01:02.345",
    "1:30:00",
    "90:00",
    "1-02:30",
    "1-02:30:05",
    "soon",
]
SIZES = ["4G", "4GB", "4000M", "512K", "1.5T", "1P", "123", "12B", "many", "-1G"]
MARKED = [*SIZES, "4Gi", "512MiB", "8k", "4 GB"]
SPANS = ["1d 2h 3m 4s", "12.5s", "850ms", "1h", "2m 30s", "0", "soon"]


def column(read, texts):
    table = ibis.memtable(pd.DataFrame({"text": texts}))
    found = ibis.duckdb.connect().to_pandas(read(table.text).name("value"))
    return [None if pd.isna(value) else float(value) for value in found]


def one_by_one(read, texts):
    def value(text):
        try:
            return read(text)
        except ParameterError:
            return None

    return [value(text) for text in texts]


def memory(g_is, bare):
    return lambda text: units.parse_memory(text, g_is=g_is, bare=bare)


def duration(text):
    return units.parse_duration(text, bare="s")


@pytest.mark.parametrize(
    ("read", "meant", "texts"),
    [
        (elapsed_s, duration, CLOCKS),
        (TEXT_FORMS["hms"].read, duration, CLOCKS),
        (nextflow._seconds_of, duration, SPANS),
        (slurm_text.gib, memory("binary", "bytes"), SIZES),
        (lambda text: nextflow._SIZE.read(text), memory("binary", "bytes"), SIZES),
        (TEXT_FORMS["size"].read, memory("decimal", "bytes"), MARKED),
        (TEXT_FORMS["size binary"].read, memory("binary", "bytes"), MARKED),
        (TEXT_FORMS["quantity"].read, units.parse_quantity, ["500m", "2", "0.5", "two"]),
    ],
    ids=["sacct times", "mapping hms", "nextflow times", "sacct sizes", "nextflow sizes",
         "mapping size", "mapping size binary", "mapping quantity"],
)  # fmt: skip
def test_a_column_is_read_as_each_of_its_texts(read, meant, texts):
    assert column(read, texts) == pytest.approx(one_by_one(meant, texts))
