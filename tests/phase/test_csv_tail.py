from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingColumnError, MissingFileError
from prophase.phase.detector import PhaseDetector
from prophase.phase.phase_changes import PhaseWatch, tail_rows


def test_rows_are_given_when_their_line_ends_and_growth_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("series_id,time_s,cpu\na,1,0.5\na,2,")
    added = iter(["0.7\n", "a,3,0.9\n"])

    def write_more() -> bool:
        more = next(added, None)
        if more is not None:
            with path.open("a") as out:
                out.write(more)
        return more is not None

    rows = list(tail_rows(path, poll_s=0.0, go_on=write_more))
    assert [(row["time_s"], row["cpu"]) for row in rows] == [
        ("1", "0.5"),
        ("2", "0.7"),
        ("3", "0.9"),
    ]


def test_a_file_that_became_shorter_is_read_from_its_header_on(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    again = iter([True])

    def replace() -> bool:
        if not next(again, False):
            return False
        path.write_text("a,b\n5,6\n")
        return True

    assert [row["a"] for row in tail_rows(path, poll_s=0.0, go_on=replace)] == ["1", "3", "5"]


def test_a_row_with_too_many_fields_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(FormatError, match="line 3: has 3 fields under 2 names"):
        list(tail_rows(path, follow=False))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        next(tail_rows(tmp_path / "no.csv"))


def test_a_watch_reports_the_changes_that_the_batch_has(
    detector: PhaseDetector, levels_usage: pd.DataFrame
) -> None:
    rows = [
        {name: str(value) for name, value in row.items()} for row in levels_usage.to_dict("records")
    ]
    changes = list(PhaseWatch(detector).changes(rows))
    labels = detector.label(levels_usage)
    expected = sum(
        int((one["phase"].diff().fillna(1) != 0).sum()) for _, one in labels.groupby("series_id")
    )
    told = [change for change in changes if change.step.changed]
    # the first label, none, is no change
    assert len(told) == expected - labels["series_id"].nunique()
    assert told[1].forecast is not None


def test_rows_without_what_the_phases_were_learned_with_are_refused(
    detector: PhaseDetector,
) -> None:
    with pytest.raises(MissingColumnError, match="lack memory_gib"):
        list(PhaseWatch(detector).changes([{"series_id": "a", "time_s": "1", "cpu_cores": "2"}]))
    with pytest.raises(MissingColumnError, match="no column for the series"):
        list(PhaseWatch(detector).changes([{"who": "a", "time_s": "1"}]))
    with pytest.raises(FormatError, match="which is not a number"):
        list(
            PhaseWatch(detector).changes(
                [{"series_id": "a", "time_s": "1", "cpu_cores": "x", "memory_gib": "1"}]
            )
        )


def test_samples_that_cannot_be_used_are_named_once_per_series(detector: PhaseDetector) -> None:
    said: list[str] = []
    watch = PhaseWatch(detector, tell=said.append)
    for time_s in (0.0, 10.0, 10.0, 5.0, 20.0):
        watch.push("a", time_s, {"cpu_cores": 1.0, "memory_gib": 2.0})
    assert len(said) == 1
    assert "a: a sample at 10 s came after one at 10 s" in said[0]
    assert "two series share this id" in said[0]
    for time_s in range(30, 200, 10):
        watch.push("a", time_s, {"cpu_cores": float("nan"), "memory_gib": 2.0})
    assert len(said) == 2
    assert "no recent value of cpu_cores" in said[1]
    with pytest.raises(FormatError, match="row 1: cpu_cores is 'high'"):
        list(watch.changes([{"series_id": "b", "time_s": "1", "cpu_cores": "high"}]))
