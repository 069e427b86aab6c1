from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROWS = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,100.0,1,100.0,a
2017-10-09 07:00:10,100.0,1,100.0,b
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "philly.csv"
    path.write_text(ROWS)
    return path


def test_a_replay_reports_waits_and_writes_one_row_per_job(prophase_here, dump, tmp_path):
    done = prophase_here("simulate", dump, "--cluster", "1x1", "--format", "json", "--out", "s.csv")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["mean_wait_s"] == 45.0
    table = pd.read_csv(tmp_path / "s.csv")
    assert list(table["wait_s"]) == [0.0, 90.0]


def test_tasks_without_a_clock_wait_for_their_parents_and_have_energy(prophase_here, tmp_path):
    tasks = "job_id,duration_s,request_gpus,attr_parents\na,3600,1,\nb,3600,1,a\n"
    (tmp_path / "tasks.csv").write_text(tasks)
    (tmp_path / "power.csv").write_text("gpu_type,idle_w,busy_w\n*,100,1000\n")
    done = prophase_here(
        "simulate", tmp_path / "tasks.csv", "--source", "csv", "--cluster", "1x2", "--depends",
        "attr_parents", "--power", tmp_path / "power.csv", "--out", "s.csv", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["makespan_s"] == 7200.0
    assert answer["energy"]["kwh"] == pytest.approx(2 * 0.5 + 2 * 0.05)
    assert pd.read_csv(tmp_path / "s.csv")["energy_kwh"].tolist() == [0.5, 0.5]


def test_a_cluster_may_be_a_list_of_nodes(prophase_here, dump, tmp_path):
    (tmp_path / "nodes.csv").write_text("node_id,cpu_cores,memory_gib,gpus\nn1,8,64,1\n")
    done = prophase_here("simulate", dump, "--cluster", tmp_path / "nodes.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mean_wait_s"] == 45.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--cluster"),
        (("--cluster", "many"), "not understood"),
        (("--cluster", "1x1", "--order", "shortst"), "Did you mean 'shortest'"),
        (("--cluster", "1x1", "--out", "s.xlsx"), ".csv.gz, .parquet"),
        (("--cluster", "1x1", "--depends", "attr_parents"), "no column attr_parents"),
        (("--cluster", "1x1", "--elastic", "maximum=2"), "'maximum' is unknown"),
        (("--cluster", "1x1", "--elastic", "on", "--preempt", "on"), "cannot be combined"),
        (("--cluster", "1x1", "--cohorts", "none.csv"), "there is no file none.csv"),
        (("--cluster", "1x1", "--topology", "nodes=1.5"), "no column rack"),
        (("--cluster", "1x1 A100", "--mig", "on"), "no column attr_mig_profile"),
        (("--cluster", "1x1", "--carbon", "c.csv"), "--carbon needs --power"),
        (("--cluster", "1x1", "--power", "none.csv"), "there is no file none.csv"),
        (("--cluster", "1x1", "--defer", "slack=1h"), "say table as well"),
        (("--preset", "pie"), "Known: pai"),
        (("--preset", "openb"), "needs --nodes"),
        (("--preset", "openb", "--theory"), "nobody queues"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, dump, arguments, message):
    done = prophase_here("simulate", dump, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr


@pytest.mark.data
def test_the_pai_preset_answers_the_published_averages(prophase_here, shared_data):
    done = prophase_here(
        "simulate", shared_data / "pai_sim" / "philly20k.csv.gz", "--source", "pai-sim",
        "--preset", "pai", "--pai-gpus", "600", "--order", "fifo", "--format", "json",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["mean_jct_s"] == pytest.approx(78795.7217, abs=1e-6)
    assert answer["mean_wait_s"] == pytest.approx(62445.3765, abs=1e-6)
    assert answer["makespan_s"] == 5944539


@pytest.mark.data
def test_the_openb_protocol_answers_the_published_curve(prophase_here, shared_data):
    folder = shared_data / "openb"
    done = prophase_here(
        "simulate", folder / "openb_pod_list_default.csv", "--source", "openb",
        "--nodes", folder / "openb_node_list_gpu_node.csv", "--preset", "openb",
        "--openb-arrivals", folder / "arrival_orders.npz", "--seed", "43", "--place", "best_fit",
        "--format", "json",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    published = pd.read_csv(folder / "published_default_seeds42_44.csv")
    row = published.query("measure == 'allocation_pct' and policy == '05-BestFit' and seed == 43")
    theirs = row.iloc[0, 3:].to_numpy(float)
    assert np.abs(np.array(answer["allocation_pct"]) - theirs).max() < 0.01


def test_theory_of_a_trace_too_short_for_a_rate_leaves_the_replay_standing(prophase_here, dump):
    done = prophase_here("simulate", dump, "--cluster", "1x1", "--theory")
    assert done.returncode == 0, done.stderr
    assert "mean_wait_s" in done.stdout
    assert "Theory: not computable: 2 jobs are too few" in done.stdout


@pytest.mark.data
def test_theory_beside_the_pai_preset_names_the_bursts_of_philly(prophase_here, shared_data):
    arguments = (
        "simulate", shared_data / "pai_sim" / "philly20k.csv.gz", "--source", "pai-sim",
        "--preset", "pai", "--pai-gpus", "600", "--theory",
    )  # fmt: skip
    theory = json.loads(prophase_here(*arguments, "--format", "json").stdout)["theory"]
    means = next(row for row in theory["table"] if row["measure"] == "wait_mean_s")
    assert means["simulation"] == pytest.approx(62445.3765, abs=1e-6)
    assert means["G/G/c"] < 1
    assert "SCV 365" in theory["verdict"][0]
    assert not theory["valid"]
    shown = prophase_here(*arguments).stdout
    assert "Verdict: Formulas do not apply: Poisson arrivals" in shown
    assert "wait_p99_s" in shown
    assert "wait_mean_s by one_pool" in prophase_here(*arguments, "--format", "csv").stdout


def test_the_pai_node_needs_a_gpu(prophase_here):
    refused = prophase_here("simulate", ".", "--preset", "pai", "--pai-gpus", "0")
    assert refused.returncode == 2
    assert "'--pai-gpus'" in refused.stderr


def test_the_racks_of_a_node_list_say_how_long_a_gang_runs(prophase_here, tmp_path):
    (tmp_path / "nodes.csv").write_text("node_id,gpus,rack\na1,4,A\na2,4,A\nb1,4,B\n")
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_s,duration_s,request_gpus,instances,gang_size\n"
        "x,0,1000,4,1,1\ny,2000,1000,4,2,2\nz,4000,1000,4,3,3\n"
    )
    done = prophase_here(
        "simulate", tmp_path / "jobs.csv", "--source", "csv", "--nodes", tmp_path / "nodes.csv",
        "--topology", "nodes=1.1,domains=1.4", "--out", tmp_path / "out.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "out.csv")["run_s"].tolist() == [1000, 1100, 1400]
