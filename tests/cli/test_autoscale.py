from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

QUICK = ("--policies", "phase-relative", "--satisfy", "95%")


@pytest.fixture
def series(prophase_here, tmp_path: Path) -> Path:
    made = prophase_here(
        "synth", "containers", "--series", "6", "--samples", "200", "--out", tmp_path / "ws"
    )
    assert made.returncode == 0, made.stderr
    return tmp_path / "ws"


def test_a_table_has_a_row_per_policy_and_names_the_winner(prophase_here, series):
    done = prophase_here("autoscale", series, "--allocate", "cpu_cores", *QUICK)
    assert done.returncode == 0, done.stderr
    for policy in ("static", "vpa", "recent-max", "no-phase", "phase-relative", "oracle"):
        assert f"\n{policy} " in done.stdout
    assert "cpu_cores, decided every 5 samples" in done.stdout


def test_json_lists_the_promised_columns_and_csv_the_same(prophase_here, series):
    said = prophase_here("autoscale", series, *QUICK, "-f", "json")
    rows = json.loads(said.stdout)["policies"]
    promised = {
        "policy",
        "allocation_over_usage",
        "satisfied_pct",
        "violation_episodes",
        "resizes_per_1000",
    }
    assert all(promised <= set(row) for row in rows)
    assert sum(row["winner"] for row in rows) <= 1
    table = prophase_here("autoscale", series, *QUICK, "-f", "csv").stdout
    assert [row["policy"] for row in csv.DictReader(io.StringIO(table))] == [
        row["policy"] for row in rows
    ]


def test_fit_and_test_are_kept_apart(prophase_here, series, tmp_path):
    same = prophase_here("autoscale", "--train", series, "--test", series, *QUICK)
    assert same.returncode == 1
    assert "in fit and in test" in same.stderr
    alone = prophase_here("autoscale", "--train", series)
    assert alone.returncode == 2
    assert "go together" in alone.stderr
    neither = prophase_here("autoscale")
    assert neither.returncode == 2
    assert "either SERIES or --train and --test" in neither.stderr


def test_wrong_options_are_answered_before_the_work(prophase_here, series):
    unknown = prophase_here("autoscale", series, "--allocate", "memory")
    assert unknown.returncode == 1
    assert "no metric 'memory'" in unknown.stderr
    target = prophase_here("autoscale", series, "--satisfy", "100%")
    assert target.returncode == 2
    assert "below 100%" in target.stderr
    policy = prophase_here("autoscale", series, "--policies", "magic")
    assert policy.returncode == 2
    assert "policy 'magic' is unknown" in policy.stderr


def test_figures_are_drawn(prophase_here, series, tmp_path):
    done = prophase_here("autoscale", series, *QUICK, "--figures", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"frontier.png", "allocation.png", "frontier.csv"} <= drawn


def test_memory_is_compared_at_the_kill_rate_of_vpa_unless_told_otherwise(prophase_here, series):
    said = prophase_here("autoscale", series, "--policies", "recent-max", "-f", "json")
    told = json.loads(said.stdout)
    assert told["metric"] == "memory_gib"
    rows = {row["policy"]: row for row in told["policies"]}
    assert told["kills_per_pod_day"] == rows["vpa"]["expected_kills_per_pod_day"]
    assert rows["oracle"]["kills_per_pod_day"] == 0
    both = prophase_here("autoscale", series, "--kills", "vpa", "--satisfy", "99%")
    assert (both.returncode, "not both" in both.stderr) == (2, True)
    wrong = prophase_here("autoscale", series, "--kills", "few")
    assert "--kills is few. Pass kills per pod-day" in wrong.stderr
    cores = prophase_here("autoscale", series, "--allocate", "cpu_cores", "--kills", "1")
    assert "ask for a share of samples" in cores.stderr


def test_a_policy_is_kept_asked_and_refused_where_it_cannot_act(
    prophase_here, series, tmp_path, monkeypatch
):
    kept = tmp_path / "memory.policy"
    made = prophase_here(
        "autoscale", "fit", series, "--choose", "recent-max", "--policies", "recent-max",
        "--out", kept,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert f"Wrote {kept}: recent-max for memory_gib." in made.stderr
    said = prophase_here("autoscale", "recommend", kept, series, "-f", "json")
    rows = json.loads(said.stdout)["recommendations"]
    assert len(rows) == 6
    assert all(row["allocation"] >= row["exact"] > 0 for row in rows)
    oracle = prophase_here("autoscale", "fit", series, "--choose", "oracle", *QUICK)
    assert "looks ahead" in oracle.stderr
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("PROPHASE_PROMETHEUS", "http://127.0.0.1:1")
    for wrong, words in (
        (("--bounds", "1Gi"), "Write least..most"),
        (("--bounds", "2Gi..1Gi"), "the least comes first"),
        (("--mode", "on"), "Pass dry-run, set or vpa"),
        ((), "No cluster is configured"),
    ):
        done = prophase_here("autoscale", "run", kept, *wrong)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
