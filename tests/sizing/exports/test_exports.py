from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.sizing.export_formats import FORMS, export, exported
from prophase.sizing.exports import ENGINES, write_for
from prophase.sizing.exports.kind_requests import KindRequests, kind_requests
from prophase.sizing.kind_recommendation import recommend

sys.path.append(str(Path(__file__).parent))
from engines import ASKED


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    count = np.arange(40)
    return pd.DataFrame(
        {
            "job_id": [f"j{row}" for row in count],
            "task": "align",
            "duration_s": 600.0,
            "memory_peak_gib": 2.0 + 0.1 * (count % 5),
            "request_memory_gib": 16.0,
            "time_limit_s": 86_400.0,
            "submit_s": 700.0 * count,
        }
    )


def test_recommendations_of_several_resources_become_one_kind_each(jobs: pd.DataFrame) -> None:
    found = [recommend(jobs, resource=name) for name in ("memory", "time")]
    (asked,) = kind_requests(*found)
    assert asked.kind == "align"
    assert asked.ladders["memory_gib"] == found[0].tasks[0].ladder
    assert asked.at("time_limit_s", 1) == pytest.approx(3600 * found[1].tasks[0].request)
    assert "memory: " in asked.why
    text = export(found, "slurm")
    assert "#SBATCH --mem=" in text
    assert "#SBATCH --time=" in text
    assert text == export(found, "sbatch")


def test_a_task_that_keeps_its_request_is_in_no_file(jobs: pd.DataFrame) -> None:
    found = recommend(jobs)
    kept = dataclasses.replace(
        found, tasks=[dataclasses.replace(one, keep=True) for one in found.tasks]
    )
    for engine in ENGINES:
        assert "align" not in export(kept, engine).split("LADDERS", 1)[-1], engine


@pytest.mark.parametrize("engine", ENGINES)
def test_every_file_says_for_whom_it_is_why_and_what_it_lacks(engine: str) -> None:
    made = write_for(engine, ASKED)
    assert "40 runs used at most 10% of the request" in made.text
    for said in made.left_out:
        assert said in made.text
    if engine in ("airflow", "flyte", "ray"):
        ast.parse(made.text)


@pytest.mark.parametrize(
    ("engine", "resource", "said"),
    [
        ("ray", "time_limit_s", "the time limit: Ray has no request for it"),
        ("slurm", "gpu_memory_gib", "GPU memory: Slurm has no request for it"),
    ],
)
def test_a_resource_that_an_engine_cannot_express_is_named(
    engine: str, resource: str, said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        write_for(engine, [KindRequests("align", {resource: (8.0,)})])
    more = KindRequests("align", {resource: (8.0,), "memory_gib": (1.0,)})
    (told,) = write_for(engine, [more]).left_out
    assert told.startswith("Left out, ")


def test_equal_names_of_two_tenants_never_meet_in_one_file() -> None:
    asked = [KindRequests("align", {"memory_gib": (size,)}, tenant) for tenant, size in
             (("a", 2.0), ("b", 16.0))]  # fmt: skip
    with pytest.raises(ParameterError, match=r"'align' is a kind of a and of b.*--tenant 'a'"):
        write_for("nextflow", asked)
    assert "[16384]" in write_for("nextflow", asked[1:]).text
    both = write_for("kubernetes", asked).text
    assert both.count("namespace: a") == both.count("namespace: b") > 0


def test_whatever_stops_an_export_is_named() -> None:
    asked = [KindRequests("train_#_lr#", {"memory_gib": (2.0,)})]
    with pytest.raises(ParameterError, match="names with numbers that differ"):
        write_for("kubernetes", asked)
    generated = [KindRequests("nightly-#", {"memory_gib": (2.0,)})]
    assert "name: nightly}" in write_for("kubernetes", generated).text


def test_requests_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="memory_gib"):
        KindRequests("align", {"memory": (1.0,)})
    with pytest.raises(ParameterError, match="above 0"):
        KindRequests("align", {"memory_gib": (0.0,)})


def test_unknown_forms_and_tables_of_two_resources_are_refused(jobs: pd.DataFrame) -> None:
    found = recommend(jobs)
    with pytest.raises(ParameterError, match="Did you mean 'nextflow'"):
        export(found, "nextfow")
    with pytest.raises(ParameterError, match="a table of one resource"):
        export([found, found], "csv")
    assert set(FORMS) == {*ENGINES, "csv", "json"}
    assert exported(found, "json").left_out == ()
