from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

ROWS = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,100.0,1,100.0,a
2017-10-09 07:00:10,100.0,2,200.0,b
2017-10-09 07:00:20,100.0,1,100.0,b
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "philly.csv"
    path.write_text(ROWS)
    return path


def test_shares_effects_tables_and_a_page_come_from_one_command(prophase_here, dump, tmp_path):
    done = prophase_here(
        "why", dump, "--cluster", "1x2", "--queue", "strict", "--format", "json",
        "--page", "why.html", "--out", "tables",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    shares = {row["cause"]: row["share_pct"] for row in answer["causes"]}
    # 80 s behind the second job, which waits 90 s; then both GPUs are its own for 100 s
    assert shares["order"] == pytest.approx(100 * 80 / 270, abs=0.01)
    assert sum(shares.values()) == pytest.approx(100)
    assert {row["cause"] for row in answer["without"]} == set(shares)
    assert "Why do jobs wait?" in (tmp_path / "why.html").read_text()
    jobs = pd.read_csv(tmp_path / "tables" / "jobs.csv")
    assert jobs["order_s"].tolist() == [0, 0, 80]
    assert jobs["held_up_others_s"].tolist() == [0, 80, 0]


def test_the_table_shows_shares_changes_and_who_was_in_the_way(prophase_here, dump):
    (dump.parent / "prices.toml").write_text("gpu_hour = 2.0")
    done = prophase_here(
        "why", dump, "--cluster", "1x2", "--queue", "strict", "--prices", "prices.toml"
    )
    assert done.stdout.startswith("What would help")
    for words in (
        "saved_h_per_cost",
        "whoever fits may start",
        "Whose jobs were in the way",
        "Quotas: none",
    ):
        assert words in done.stdout
    csv = prophase_here(
        "why", dump, "--cluster", "1x2", "--queue", "strict", "--only-shares", "-f", "csv"
    )
    assert csv.stdout.startswith("cause,wait_h,share_pct")
    assert "without_it" not in csv.stdout
    calm = prophase_here("why", dump, "--cluster", "4x2")
    assert "Nobody waits" in calm.stdout
    assert "share_pct" not in calm.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--cluster"),
        (("--cluster", "1x2", "--by", "usr"), "no column 'usr'"),
        (("--cluster", "1x2", "--page", "."), "Name a file"),
        (("--cluster", "1x2", "--page", "no/where.html"), "does not exist"),
        (("--cluster", "1x2", "--out", "philly.csv"), "Name a folder"),
        (("--cluster", "1x2", "--short-below", "soon"), "--short-below"),
        (("--cluster", "1x2", "--set", "nothing=1"), "no setting 'nothing'"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, dump, arguments, message):
    done = prophase_here("why", dump, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
