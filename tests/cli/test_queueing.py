from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

MMC = ("queueing", "mmc", "--arrivals", "45/s", "--service", "1s")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A day and a half of jobs on a CSV: mostly one GPU, some of four, one without a GPU."""
    rng = np.random.default_rng(0)
    submit = np.cumsum(rng.exponential(60.0, 2000))
    lines = ["job_id,submit_s,duration_s,request_gpus"]
    for n, (time, run) in enumerate(zip(submit, rng.exponential(600.0, 2000), strict=True)):
        gpus = 0 if n == 7 else 4 if n % 10 == 0 else 1
        lines.append(f"j{n},{time:.3f},{run:.3f},{gpus}")
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_queue_is_answered_as_a_table(prophase):
    done = prophase(*MMC, "--servers", "50", "--over", "1s")
    assert done.returncode == 0, done.stderr
    assert "wait_over_1_s" in done.stdout
    assert "0.364" in done.stdout
    assert "Assumes: arrivals are Poisson" in done.stdout


def test_json_and_csv_hold_the_same_numbers(prophase_here):
    document = json.loads(prophase_here(*MMC, "--servers", "50", "-f", "json").stdout)
    (row,) = csv.DictReader(io.StringIO(prophase_here(*MMC, "--servers", "50", "-f", "csv").stdout))
    (answer,) = document["answers"]
    assert answer["wait_mean_s"] == float(row["wait_mean_s"]) == pytest.approx(0.07277289344)
    assert answer["assumptions"]


def test_a_target_finds_the_least_servers(prophase_here):
    target = "P(wait > 1 s) < 5%"
    document = json.loads(prophase_here(*MMC, "--goal", target, "-f", "json").stdout)
    assert document["answers"][0]["servers"] == 48
    assert document["target"] == target
    assert "least servers with P(wait > 1 s) < 5 %" in prophase_here(*MMC, "--goal", target).stdout


def test_all_approximations_are_shown_unless_one_is_asked_for(prophase_here):
    ask = ("queueing", "mgc", "--arrivals", "45/s", "--service", "1s", "--servers", "50")
    every = json.loads(prophase_here(*ask, "--service-scv", "10", "-f", "json").stdout)
    assert [one["method"] for one in every["answers"]] == ["whitt", "kimura", "allen-cunneen"]
    one = prophase_here(
        *ask, "--service-scv", "10", "--approximation", "kimura", "-f", "json"
    ).stdout
    assert len(json.loads(one)["answers"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*MMC, "--servers", "40"), "At least 46 servers are needed"),
        (MMC, "--servers, or a --goal"),
        (("queueing", "mmc", "--servers", "5"), "needs --arrivals"),
        (("queueing", "mmcx", "--servers", "5"), "Did you mean 'mmc'"),
        (("queueing", "mmc", "--arrivals", "45", "--service", "1s", "--servers", "50"), "a rate"),
        ((*MMC, "--servers", "50", "--service-scv", "3"), "no parameter 'service_scv'"),
        ((*MMC, "--goal", "quick"), "is not understood"),
        (("queueing", "trace", "--servers", "5"), "needs a path"),
        (("queueing", "gangs", "--servers", "5"), "give classes"),
    ],
)
def test_wrong_questions_leave_with_two_and_advice(prophase_here, arguments, said):
    done = prophase_here(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_priorities_gangs_and_staffing_are_answered(prophase_here):
    urgent = ("--class", "name=urgent,arrivals=2/h,service=1h")
    batch = ("--class", "name=batch,arrivals=5/h,service=1h")
    found = prophase_here("queueing", "priorities", "--servers", "8", *urgent, *batch, "-f", "json")
    first, second = json.loads(found.stdout)["classes"]
    assert first["wait_mean_s"] < second["wait_mean_s"]
    wide = ("--class", "name=wide,arrivals=1/h,service=1h,need=4")
    found = prophase_here("queueing", "gangs", "--servers", "16", *urgent, *wide, "-f", "json")
    assert json.loads(found.stdout)["stability"]["stable"]
    assert (
        "carries a utilisation"
        in prophase_here("queueing", "gangs", "--servers", "16", *urgent, *wide).stdout
    )
    load = ("--arrivals", "1000/h", "--service", "1h")
    found = prophase_here(
        "queueing", "staffing", *load, "--goal", "P(wait > 0 s) < 20%", "-f", "json"
    )
    assert json.loads(found.stdout)["servers"] == 1034
    refused = prophase_here("queueing", "staffing", *load, "--goal", "mean wait < 1s")
    assert refused.returncode == 2


def test_every_model_is_listed(prophase_here):
    listed = prophase_here("queueing", "list").stdout
    assert all(name in listed for name in ("mmc", "ggc", "gangs", "trace"))


def test_a_trace_is_answered_with_exact_waits_and_what_fails(prophase_here, trace):
    done = prophase_here("queueing", "trace", trace, "--source", "csv", "--servers", "20")
    assert done.returncode == 0, done.stderr
    assert "exact, strictly first come first served" in done.stdout
    assert "holds: Poisson arrivals" in done.stdout
    assert "FAILS: one server each" in done.stdout
    assert "Left out: 1 job asking for no gpus." in done.stdout
    document = json.loads(
        prophase_here(
            "queueing", "trace", trace, "--source", "csv", "--servers", "20", "-f", "json"
        ).stdout
    )
    assert document["jobs"] == 1999
    assert not document["valid"]
    assert document["rows"][0]["ratio"] == 1


def test_a_job_larger_than_the_pool_is_refused_by_name(prophase_here, trace):
    done = prophase_here("queueing", "trace", trace, "--source", "csv", "--servers", "3")
    assert done.returncode == 1
    assert "e.g. j0" in done.stderr
    counted = prophase_here(
        "queueing", "trace", trace, "--source", "csv", "--servers", "20", "--resource", "jobs"
    )
    assert "holds: one server each" in counted.stdout
