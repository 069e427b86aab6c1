"""The group of commands on profiles, from a trace to figures."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path

import pytest

from prophase.trace.synth.pai import make_pai
from prophase.trace.workspace import Workspace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    jobs = make_pai(jobs=300, days=3, random_state=1).jobs
    path = tmp_path_factory.mktemp("trace") / "jobs.csv"
    jobs.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(trace: Path) -> Path:
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.generators.generator_names import paper_generator
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.trace.trace_tables import open_trace

    path = trace.with_name("profiles.model")
    jobs = ended_jobs(open_trace(trace, source="csv").jobs).jobs
    WorkloadProfiler(paper_generator(len(jobs))).fit(jobs).save(path)
    return path


def test_fit_learns_and_saves_profiles_that_show_can_tell(prophase_here, trace, tmp_path):
    out = tmp_path / "p.model"
    done = prophase_here("profile", "fit", trace, "--source", "csv", "--out", out, "-f", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 2 < len(found["profiles"]) <= 16
    assert all(one["name"] != str(one["profile"]) for one in found["profiles"])
    assert "not ended" in " ".join(found["notes"])
    shown = prophase_here("profile", "show", out, "-f", "csv")
    rows = list(csv.DictReader(shown.stdout.splitlines()))
    sizes = [int(row["n"]) for row in rows]
    assert len(sizes) == found["statistics"]["n_clusters"]
    assert sizes == sorted(sizes, reverse=True)


def test_one_profile_is_told_in_words_and_completely_in_json(prophase_here, model):
    told = prophase_here("profile", "show", model, "0").stdout
    assert told.startswith("profile 0, ")
    assert "Known at submission" in told
    assert "duration_s" in told
    document = json.loads(prophase_here("profile", "show", model, "0", "-f", "json").stdout)
    summary = document["dynamic"]["duration_s"]
    assert {"mean", "std", "quantiles", "histogram", "trend", "season", "anomalies"} <= set(summary)
    for word in ("-1", "outliers"):
        assert prophase_here("profile", "show", model, word).stdout.startswith("outliers:")


def test_asking_wrongly_says_what_to_do(prophase_here, trace, model, tmp_path):
    (tmp_path / "damaged.model").write_bytes(b"no model")
    cases = [
        (("fit", trace), "--out profiles.model"),
        (("fit", trace, "--out", "x", "--generator", "kmeans"), "k-means"),
        (("fit", trace, "--out", "x", "--label", "task"), "no meaning for tree"),
        (("fit", trace, "--out", "x", "--transform", "log"), "'log' is unknown"),
        (("fit", trace, "--out", "x", "--status", "done"), "There are"),
        (("show", model, "999"), "There are: -1, 0, 1."),
        (("running", "nowhere"), "nowhere: there is no such file or folder"),
        (("show", "damaged.model"), "damaged.model"),
        (("show", tmp_path), "prophase profile fit"),
        (("plot", model, "--out", "f"), "--trace TRACE"),
        (("grid", trace, "--sizes", "a"), "whole numbers"),
        (("grid", trace, "--sizes", "5000"), "over half"),
        (("grid", trace, "--workers", "many"), "such as dask://"),
        (("grid", trace, "--metrics", "cosine"), "'cosine' is unknown"),
        (("compare", trace, "--generators", "magic"), "'magic' is unknown"),
    ]
    for arguments, said in cases:
        done = prophase_here("profile", *arguments)
        assert done.returncode in (1, 2), arguments
        assert said in done.stderr, (arguments, done.stderr)
        assert done.stdout == ""


def test_profiles_by_rules_and_of_jobs_without_groups_are_answered(prophase_here, trace, tmp_path):
    rules = prophase_here("profile", "fit", trace, "--out", "r.model", "--generator", "rules")
    assert "name" in rules.stdout.splitlines()[0]
    few = prophase_here(
        "profile", "fit", trace, "--out", "o.model", "--generator", "hdbscan",
        "--min-cluster-size", "170", "--min-samples", "170", "--status", "completed",
    )  # fmt: skip
    assert few.returncode == 0, few.stderr
    assert "Every job is an outlier" in few.stdout


def test_plot_writes_a_page_also_for_jobs_it_was_not_learnt_from(
    prophase_here, trace, model, tmp_path, monkeypatch
):
    from prophase.plots.profiles import page

    # two will do: tests/plots draws all of them
    every = page.profile_figures
    monkeypatch.setattr(page, "profile_figures", lambda *a, **k: islice(every(*a, **k), 2))
    some = tmp_path / "some.csv"
    some.write_text("\n".join(trace.read_text().splitlines()[:120]) + "\n")
    done = prophase_here(
        "profile", "plot", model, "--trace", some, "--out", "figures", "-f", "json", "--top", "3"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["learnt_from_these_jobs"]
    assert (tmp_path / found["page"]).exists()


def test_a_grid_is_resumed_and_its_cells_can_be_read_again(prophase_here, trace, tmp_path):
    plan = ("--algorithms", "hdbscan", "--transforms", "power,robust", "--sizes", "15,30")
    first = prophase_here("profile", "grid", trace, "--out", "grid", *plan, "-f", "json")
    assert first.returncode == 0, first.stderr
    cells = tmp_path / "grid" / "cells.jsonl"
    before = cells.read_text()
    assert len(before.splitlines()) == 8
    cells.write_text("".join(before.splitlines(keepends=True)[:5]) + '{"key": "half')
    again = prophase_here("profile", "grid", trace, "--out", "grid", *plan, "-f", "json")
    same = [
        {key: value for key, value in cell.items() if key != "seconds"}
        for done in (first, again)
        for cell in json.loads(done.stdout)["cells"]
    ]
    assert same[:8] == same[8:]
    assert (tmp_path / "grid" / "score-equal.png").exists()
    read = prophase_here("profile", "grid", "grid/cells.csv", "--ideal", "5")
    assert "Score equal chooses hdbscan-" in read.stdout


def test_clusterability_and_comparison_answer_in_one_table_each(prophase_here, trace):
    judged = json.loads(
        prophase_here("profile", "clusterability", trace, "--repeats", "2", "-f", "json").stdout
    )
    assert [row["transform"] for row in judged["hopkins"]][-1] == "power"
    assert len(judged["fixed_labels"]) == 3
    assert [row["leaking"] for row in judged["leaking"]] == [True, False]
    assert judged["metrics"]["cpu_mean_cores"] == "cpu_usage"
    table = json.loads(prophase_here("profile", "compare", trace, "-f", "json").stdout)
    assert [row["generator"] for row in table["generators"]] == [
        "hdbscan", "optics", "kmeans", "rules", "semi-supervised", "autoencoder",
    ]  # fmt: skip


@pytest.mark.data
def test_the_published_cells_give_the_published_table(prophase_here, shared_data):
    done = prophase_here("profile", "grid", shared_data / "polaris")
    assert "hdbscan: 20 of 20" in done.stdout
    assert "optics: 16 of 20" in done.stdout
    assert done.stdout.count("published ") >= 4
    assert "hdbscan-300-power-euclidean: 26 profiles, 24,603 outliers" in done.stdout
    assert "hdbscan-100-power-manhattan: 125 profiles" in done.stdout
    one = prophase_here("profile", "grid", shared_data / "polaris" / "01_optics_analysis.csv")
    assert "optics: 16 of 20" in one.stdout


def test_running_jobs_are_held_against_their_profile(prophase_here, trace, model, tmp_path):
    import pandas as pd

    jobs = pd.read_csv(trace)
    now = jobs[jobs["duration_s"].notna()].head(5).copy()
    now[["end_s", "duration_s"]] = None
    now["status"] = "running"
    now.to_csv(tmp_path / "now.csv", index=False)
    late = f"{now['start_s'].max() + 1e7}"
    done = prophase_here(
        "profile", "running", "now.csv", "--past", trace, "--profiles", model, "--at", late,
        "-f", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["running"]
    assert len(found) == 5
    assert {one["metric"] for one in found if one["verdict"] == "unlike its profile"} == {
        "duration_s"
    }


def test_running_jobs_are_told_by_the_model_that_the_workspace_keeps(
    prophase_here, trace, tmp_path
):
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.trace.workspace_paths import CLASSIFIER, PROFILES

    made = prophase_here("import", "csv", trace, "-w", "ws")
    assert made.returncode == 0, made.stderr
    jobs = Workspace(tmp_path / "ws").read("jobs")
    ended = jobs[jobs["duration_s"] > 0].reset_index(drop=True)
    profiler = WorkloadProfiler().fit(ended)
    (tmp_path / "ws" / PROFILES).parent.mkdir(exist_ok=True)
    profiler.save(tmp_path / "ws" / PROFILES)
    first = prophase_here("profile", "running", "ws")
    assert "prophase learn ws" in first.stdout + first.stderr
    kept = ProfileClassifier("rules", unknown_below=0.0).fit(ended, profiler.labels_)
    kept.save(tmp_path / "ws" / CLASSIFIER)
    then = prophase_here("profile", "running", "ws")
    assert "as in `ask`" in then.stdout + then.stderr
