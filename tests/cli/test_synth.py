from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from prophase.trace import Workspace, open_trace

Run = Callable[..., "CompletedProcess[str]"]


def test_a_synthetic_trace_is_stored_with_its_truth_hash_seed_and_command(
    prophase: Run, tmp_path: Path
) -> None:
    done = prophase("synth", "pai", "--out", "ws", "--jobs", "300", "--seed", "7")
    assert done.returncode == 0, done.stderr
    assert "truth, for scoring only" in done.stdout
    assert "Making a workspace" in done.stderr
    held = Workspace(tmp_path / "ws").tables
    assert list(held) == ["jobs", "nodes", "truth_profiles"]
    assert held["jobs"].seed == 7
    assert held["jobs"].source == "synth-pai"
    assert held["jobs"].source_hash in json.dumps(
        json.loads(prophase("show", "ws", "--format", "json").stdout)
    )
    assert held["jobs"].command == "prophase synth pai --out ws --jobs 300 --seed 7"
    assert held["jobs"].clock == "local"
    assert open_trace(tmp_path / "ws").jobs["parent_id"].nunique() == 300


@pytest.mark.parametrize("name", ["pipeline", "containers", "cluster"])
def test_every_world_can_be_stored(prophase_here: Run, tmp_path: Path, name: str) -> None:
    done = prophase_here("synth", name, "--out", "ws", "--format", "json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    held = Workspace(tmp_path / "ws").tables
    assert {table: entry.rows for table, entry in held.items()} == {
        table: row["rows"] for table, row in said["tables"].items()
    }
    assert said["data_hash"] == next(iter(held.values())).source_hash


def test_the_same_command_gives_the_same_files(prophase_here: Run, tmp_path: Path) -> None:
    for workspace in ("one", "two"):
        prophase_here("synth", "pai", "--out", workspace, "--jobs", "200")
    one, two = (Workspace(tmp_path / name).tables for name in ("one", "two"))
    assert {n: e.table_hash for n, e in one.items()} == {n: e.table_hash for n, e in two.items()}


def test_the_seed_of_the_workspace_counts_unless_another_is_given(
    prophase_here: Run, tmp_path: Path
) -> None:
    prophase_here("init", "ws")
    settings = tmp_path / "ws" / "prophase.toml"
    settings.write_text(settings.read_text().replace("seed = 0", "seed = 11"))
    prophase_here("synth", "cluster", "--out", "ws")
    assert Workspace(tmp_path / "ws").tables["nodes"].seed == 11
    prophase_here("synth", "cluster", "--out", "ws", "--seed", "2", "--replace")
    assert Workspace(tmp_path / "ws").tables["nodes"].seed == 2


def test_other_data_are_not_overwritten_without_being_asked(
    prophase_here: Run, tmp_path: Path
) -> None:
    prophase_here("synth", "pai", "--out", "ws", "--jobs", "100")
    refused = prophase_here("synth", "pipeline", "--out", "ws")
    assert refused.returncode == 1
    assert "--replace" in refused.stderr
    assert Workspace(tmp_path / "ws").tables["jobs"].source == "synth-pai"
    replaced = prophase_here("synth", "pipeline", "--out", "ws", "--replace")
    assert replaced.returncode == 0
    assert Workspace(tmp_path / "ws").tables["jobs"].rows == 34_368
    assert "truth_profiles belong to another trace" in replaced.stderr


def test_options_reach_the_generator(prophase_here: Run, tmp_path: Path) -> None:
    done = prophase_here(
        "synth", "containers", "--csv", "out", "--series", "3", "--samples", "40",
        "--behaviour", "levels", "--set", "metrics=gpu_util_pct", "-o", "irregular=yes",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    usage = pd.read_csv(tmp_path / "out" / "usage.csv")
    assert list(usage.columns) == ["series_id", "time_s", "gpu_util_pct"]
    assert usage["series_id"].nunique() == 3
    assert (tmp_path / "out" / "truth_phases.csv").is_file()
    prophase_here("synth", "cluster", "--csv", "half", "--like", "openb", "--scale", "0.5")
    assert 600 < len(pd.read_csv(tmp_path / "half" / "nodes.csv")) < 620


@pytest.mark.parametrize("compress", [[], ["--compress"]])
def test_a_raw_dump_can_be_imported_again(
    prophase_here: Run, tmp_path: Path, compress: list[str]
) -> None:
    made = prophase_here("synth", "pai", "--jobs", "200", "--raw", "dump", *compress)
    assert made.returncode == 0, made.stderr
    assert "prophase import pai2020" in made.stdout
    assert len(list((tmp_path / "dump").glob("*.header"))) == 7
    done = prophase_here("import", "pai2020", "dump", "-w", "ws", "--format", "json")
    assert done.returncode == 0, done.stderr
    count = json.loads(done.stdout)["tables"]["jobs"]
    assert count["read"] == count["kept"] > 200


def test_the_comparison_with_published_figures_is_one_command(prophase_here: Run) -> None:
    done = prophase_here("synth", "pai", "--jobs", "20000", "--compare")
    assert done.returncode == 0, done.stderr
    assert "GPU request, median" in done.stdout
    assert "are within their tolerance" in done.stdout


def test_the_list_names_every_world_and_parameter(prophase_here: Run) -> None:
    rows = json.loads(prophase_here("synth", "list", "--format", "json").stdout)
    assert [row["name"] for row in rows if row["name"]] == [
        "cluster", "containers", "pai", "pipeline",
    ]  # fmt: skip
    assert {"utilisation", "irregular", "fifth_region"} <= {row["parameter"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pai"], "nowhere to put it"),
        (["pia", "--out", "ws"], "Did you mean 'pai'?"),
        (["pipeline", "--raw", "d"], "are for pai, not for pipeline"),
        (["pai", "--compress", "--out", "ws"], "--compress needs --raw"),
        (["pai", "--out", "ws", "-o", "jobs"], "write it as NAME=VALUE"),
        (["pai", "--out", "ws", "--series", "3"], "has no parameter 'series'"),
        (["pai", "--out", "ws", "--jobs", "1"], "Pass a value from 20"),
        (["cluster", "--out", "ws", "--seed", "-1"], "Pass 0 or a positive number"),
    ],
)
def test_asked_wrongly_it_says_what_to_do_and_makes_nothing(
    prophase_here: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = prophase_here("synth", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
