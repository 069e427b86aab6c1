from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prophase.errors import BadRowsError, FormatError
from prophase.trace import open_trace

BANNER = """"Dstat 0.7.2 CSV output"
"Author:","somebody",,,,"URL:","somewhere"
"Host:","node7",,,,"User:","root"
"Cmdline:","dstat -cdngymT --output out.csv{delay}",,,,"Date:","18 Jul 2017 21:23:33 PDT"

"""
PLAIN = (
    '"total cpu usage",,,,,,"dsk/total",,"memory usage",,,\n'
    '"usr","sys","idl","wai","hiq","siq","read","writ","used","buff","cach","free"\n'
    "20.0,1.0,74.0,3.0,0.0,2.0,707495.5,824.0,1073741824.0,1.0,2.0,3.0\n"
    "30.0,5.0,60.0,3.0,1.0,1.0,1000.0,10.0,2147483648.0,1.0,2.0,3.0\n"
    "40.0,5.0,50.0,3.0,1.0,1.0,1000.0,10.0,2147483648.0,1.0,2.0,3.0\n"
)


def test_the_banner_is_understood_and_the_delay_gives_the_time(tmp_path: Path) -> None:
    file = tmp_path / "host.csv"
    file.write_text(BANNER.replace("{delay}", " 45") + PLAIN)
    # recognised by its banner, without naming the source
    usage = open_trace(file).usage
    assert usage.time_s.tolist() == [0, 45, 90]
    assert usage.memory_gib.tolist() == [1, 2, 2]
    # the first row averages rates since boot
    assert np.isnan(usage.cpu_util_pct[0])
    assert usage.cpu_util_pct[1:].tolist() == [37, 47]
    assert usage.series_id.unique().tolist() == ["host"]


@pytest.mark.parametrize(
    ("group", "name", "cells"),
    [
        ("epoch", "epoch", ("1500438213.0", "1500438258.5")),
        ("system", "date/time", ("18-07 21:23:33", "18-07 21:24:18")),
    ],
)
def test_a_clock_in_the_output_gives_the_time(
    tmp_path: Path, group: str, name: str, cells: tuple[str, str]
) -> None:
    header = f'"total cpu usage",,"memory usage","{group}"\n"usr","sys","used","{name}"\n'
    rows = "".join(f"1.0,2.0,3.0,{cell}\n" for cell in cells)
    file = tmp_path / "h.csv"
    file.write_text(BANNER.replace("{delay}", "") + header + rows)
    times = open_trace(file, source="dstat").usage.time_s.tolist()
    assert times == [0.0, 45.5 if group == "epoch" else 45.0]


def test_a_restarted_dstat_appends_a_second_banner_that_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    once = BANNER.replace("{delay}", "") + PLAIN
    file.write_text(once + once)
    assert len(open_trace(file, source="dstat").usage) == 6


def test_a_line_of_the_wrong_width_is_a_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text(BANNER.replace("{delay}", "") + PLAIN + "1.0,2.0\n")
    with pytest.raises(BadRowsError, match="wrong number of fields"):
        open_trace(file, source="dstat")


def test_a_banner_without_samples_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text(BANNER)
    with pytest.raises(FormatError, match="no samples"):
        open_trace(file, source="dstat")


@pytest.mark.data
def test_cpu_and_memory_of_the_published_run_come_out(shared_data: Path) -> None:
    usage = open_trace(shared_data / "blox-dstat", source="dstat").usage
    assert len(usage) == 4596
    assert usage.cpu_user_pct.quantile([0.1, 0.5, 0.9]).round().tolist() == [18, 22, 26]
    assert usage.memory_gib.quantile([0.1, 0.5, 0.9]).round().tolist() == [42, 55, 62]
