from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("opnb", "--data", "."), "Did you mean 'openb'"),
        (("openb", "--data", "."), "openb_node_list_gpu_node.csv: is missing"),
        (("pai-sim", "--data", "."), "results.json: is missing"),
        (("pai-sim", "--data", ".", "--lists", "default"), "no meaning for pai-sim"),
        (("openb", "--data", ".", "--seeds", "x"), "give numbers"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, arguments, message):
    done = prophase_here("reproduce", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.data
def test_published_curves_come_out_beside_ours(prophase_here, shared_data):
    done = prophase_here(
        "reproduce", "openb", "--data", shared_data / "openb", "--seeds", "43", "--workers", "1",
        "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {row["place"]: row for row in json.loads(done.stdout)["rows"]}
    assert len(rows) == 6
    assert rows["random"]["verdict"] == "agrees in the mean"
    for place in set(rows) - {"random"}:
        assert rows[place]["verdict"] == "agrees at every point of 1 seeds"
        assert rows[place]["max_deviation_fragmentation_ratio"] < 0.01


@pytest.mark.data
def test_an_unknown_list_or_a_seed_without_an_order_is_named(prophase_here, shared_data):
    folder = shared_data / "openb"
    done = prophase_here("reproduce", "openb", "--data", folder, "--lists", "defalt")
    assert "Did you mean 'default'" in done.stderr
    done = prophase_here("reproduce", "openb", "--data", folder, "--seeds", "7")
    assert "seed 7" in done.stderr


@pytest.mark.data
def test_a_number_that_does_not_come_out_is_said_and_the_command_leaves_with_1(
    prophase_here, shared_data, tmp_path
):
    folder = tmp_path / "openb"
    folder.mkdir()
    for path in Path(shared_data / "openb").glob("*"):
        shutil.copyfile(path, folder / path.name)
    path = folder / "published_default_seeds42_44.csv"
    table = pd.read_csv(path)
    wrong = (table["policy"] == "05-BestFit") & (table["seed"] == 43)
    table.loc[wrong, "90"] += 0.02
    table.to_csv(path, index=False)
    done = prophase_here("reproduce", "openb", "--data", folder, "--seeds", "43", "--workers", "1")
    assert done.returncode == 1
    assert "1 of 6 rows differ" in done.stdout


@pytest.mark.data
def test_every_job_of_the_recorded_pai_runs_comes_out(prophase_here, shared_data):
    done = prophase_here(
        "reproduce", "pai-sim", "--data", shared_data / "pai_sim", "--workers", "1", "-f", "json"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["verdict"] for row in rows] == ["agrees at every job"] * 2
    assert [row["jobs_that_differ"] for row in rows] == [0, 0]


@pytest.fixture
def quick_thesis(monkeypatch):
    """Leave out all models but two per task; the whole takes minutes."""
    from prophase.papers.thesis import reproduction as reproducing
    from prophase.sizing.assess import assessment
    from prophase.sizing.bins import experiments

    def one_model(jobs, binnings, **options):
        made = experiments.run_experiments(
            jobs, binnings, classifiers=["svm"], samplings=["none"], **{**options, "trials": 1}
        )
        by_kind = [replace(m, classifier=c) for m in made for c in ("xgboost", "svm")]
        return [replace(m, sampling=s) for m in by_kind for s in ("none", "random", "smote")]

    monkeypatch.setattr(reproducing, "run_experiments", one_model)
    monkeypatch.setattr(assessment, "_drivers", lambda *arguments: ({}, []))


def test_the_thesis_stands_beside_ours_without_any_data(prophase_here, quick_thesis, tmp_path):
    done = prophase_here("reproduce", "thesis", "--trials", "1", "--figures", "drawn", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    after = [row for row in rows if row["claim"] == "memory of one run (GB), after"]
    assert (after[0]["published"], after[0]["ours"], after[0]["verdict"]) == (
        "325", "325", "reproduced",
    )  # fmt: skip
    assert sum(row["verdict"] == "contradicted" for row in rows) == 8
    written = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert {"confusion-1.png", "tuning.csv", "models.csv", "heavy-2-3-bins.model"} <= written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("thesis", "--lists", "default"), "no meaning for thesis"),
        (("thesis", "--seeds", "1,b"), "give numbers"),
        (("thesis", "--seeds", "1", "--data", "."), "give one"),
        (("polaris", "--trials", "3"), "no meaning for polaris"),
    ],
)
def test_options_of_the_thesis_are_checked(prophase_here, arguments, message):
    done = prophase_here("reproduce", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_data_a_stand_in_is_used_and_the_report_says_so(
    prophase_here, tmp_path, monkeypatch
):
    monkeypatch.delenv("PROPHASE_DATA", raising=False)
    done = prophase_here("reproduce", "openb", "--report", "reports", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"] == "synthetic"
    text = (tmp_path / "reports" / "openb" / "report.md").read_text()
    assert "synthetic pods on a synthetic cluster" in text
    assert "prophase reproduce openb" in text


@pytest.mark.data
def test_data_are_found_through_the_environment(prophase_here, shared_data, monkeypatch):
    monkeypatch.setenv("PROPHASE_DATA", str(shared_data))
    monkeypatch.setattr("prophase.papers.mlaas.replay_rows", lambda trace: [])
    done = prophase_here("reproduce", "mlaas", "-f", "json")
    found = json.loads(done.stdout)
    assert found["data"] == "real"
    assert found["verdicts"]["needs data"] > 10
    assert found["verdicts"]["reproduced"] == 3
    assert len(found["tables_and_figures"]) == 16


@pytest.fixture
def two_sources(monkeypatch):
    """Leave out all sources but one that is quick and one that fails; count the runs."""
    from prophase.errors import InputError

    monkeypatch.delenv("PROPHASE_DATA", raising=False)
    runs = []

    def broken(data, options, workers, progress):
        runs.append("polaris")
        raise InputError("the grid is torn.")

    def quick(data, options, workers, progress):
        runs.append("openb")
        claim = {"claim": "the policy that fills the most GPUs", "published": "fgd"}
        return [{"item": "ranking", **claim, "ours": "fgd", "verdict": "in kind", "reason": ""}]

    for module in ("reproduce", "reproductions"):
        monkeypatch.setattr(
            f"prophase.cli.{module}.RUNNERS", {"polaris": (broken, ()), "openb": (quick, ())}
        )
    return runs


def test_a_source_that_fails_is_named_and_does_not_stop_the_others(
    prophase_here, two_sources, tmp_path
):
    done = prophase_here("reproduce", "all", "--report", "reports", "-f", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["failed"] == {"polaris": "the grid is torn."}
    assert [row["source"] for row in found["sources"]] == ["openb"]
    page = (tmp_path / "reports" / "index.html").read_text()
    assert "polaris could not be run" in page
    assert "openb/report.html" in page


def test_a_second_run_of_all_does_only_what_is_missing_unless_told_otherwise(
    prophase_here, two_sources
):
    for options in ((), (), ("--again",)):
        prophase_here("reproduce", "all", "--report", "reports", *options)
    assert two_sources == ["polaris", "openb", "polaris", "polaris", "openb"]


def test_the_commands_beside_tables_and_figures_exist():
    import typer

    from prophase.cli.main import app
    from prophase.papers.sources import CONTENTS

    root = typer.main.get_command(app)
    for pieces in CONTENTS.values():
        for piece in pieces:
            command, words = root, piece.command.split()[1:]
            while hasattr(command, "get_command"):
                found = command.get_command(None, words[0]) if words else None
                if words:
                    assert found is not None, piece.command
                else:
                    break
                command, words = found, words[1:]


def test_options_of_one_source_are_refused_for_all(prophase_here):
    done = prophase_here("reproduce", "all", "--trials", "3")
    assert done.returncode == 2
    assert "no meaning for all" in done.stderr
