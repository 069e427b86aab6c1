from __future__ import annotations

import ibis
import pytest

from prophase.trace.text_formats import instant_s

ENGINE = ibis.duckdb.connect()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02T00:00:01", 86401.0),
        ("1970-01-02 00:00:01", 86401.0),
        ("1970-01-02 08:00:01+08:00", 86401.0),
        ("1970-01-01 19:00:01-0500", 86401.0),
        ("1970-01-02 00:00:01.250Z", 86401.0),
        ("1600000000", 1600000000.0),
        ("tomorrow", None),
        ("1970-01-02 00:00:01 or so", None),
        (None, None),
    ],
)
def test_times_become_seconds_since_1970_with_their_offset_applied(
    text: str | None, seconds: float | None
) -> None:
    table = ibis.memtable({"text": [text]}, schema={"text": "string"})
    found = ENGINE.to_pyarrow(table.select(x=instant_s(table.text)))
    assert found["x"][0].as_py() == seconds
