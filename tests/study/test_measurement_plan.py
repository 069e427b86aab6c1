from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.runs._yaml_file import YamlFile
from prophase.runs.pipeline import read_pipeline
from prophase.runs.scenarios import read_scenarios
from prophase.study.measurement_plan import next_runs, registration


@pytest.fixture(scope="module")
def jobs(pipeline_jobs: pd.DataFrame) -> pd.DataFrame:
    """The same two tasks, in two regions; the south was never measured."""
    south = np.arange(len(pipeline_jobs)) % 4 == 3
    return pipeline_jobs.assign(
        attr_region=np.where(south, "south", "north"),
        memory_peak_gib=pipeline_jobs["memory_peak_gib"].where(~south),
    )


def test_what_was_never_measured_and_costs_most_comes_first(jobs: pd.DataFrame) -> None:
    found = next_runs(jobs, keys=["region", "task"])
    assert found.runs[0].kind == "south sort"
    assert found.runs[0].measured == 0
    assert found.kinds == 3
    worth = [one.worth_per_month for one in found.runs]
    assert worth == sorted(worth, reverse=True)


def test_the_file_registers_with_a_pipeline_of_these_keys(
    jobs: pd.DataFrame, tmp_path: Path
) -> None:
    found = next_runs(jobs, keys=["region"], count=2)
    (tmp_path / "next.yaml").write_text(registration(found, "2026-01-05..2026-01-19/7"))
    (tmp_path / "pipeline.yaml").write_text(
        "name: p\nscenario: [region]\ntasks:\n  a:\n    command: 'true'\n    memory: 1GiB\n"
    )
    scenarios = read_scenarios(
        YamlFile.read(tmp_path / "next.yaml"), read_pipeline(tmp_path / "pipeline.yaml")
    )
    assert {one.attributes["region"] for one in scenarios} == {"north", "south"}
    assert len(scenarios[0].dates) == 3


def test_without_keys_kinds_are_tasks_with_their_request(jobs: pd.DataFrame) -> None:
    found = next_runs(jobs)
    assert {one.kind for one in found.runs} == {"align", "sort"}
    assert found.keys == ("kind", "request")
    assert {one.attributes["request"] for one in found.runs} == {16, 8}


def test_names_that_become_alike_stay_apart(jobs: pd.DataFrame) -> None:
    renamed = jobs.assign(task=np.where(jobs["task"] == "sort", "a b", "a/b"))
    text = registration(next_runs(renamed), "2026-01-05")
    assert "scenario: a-b\n" in text
    assert "scenario: a-b-2\n" in text


def test_a_history_without_measurements_or_keys_says_so(jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="measured use"):
        next_runs(jobs.drop(columns="memory_peak_gib"))
    with pytest.raises(InputError, match="no column 'season'"):
        next_runs(jobs, keys=["season"])
    with pytest.raises(InputError, match="no jobs"):
        next_runs(jobs.head(0))
    with pytest.raises(ParameterError, match="count"):
        next_runs(jobs, count=0)
