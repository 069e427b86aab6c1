from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingFileError
from prophase.sizing.export_formats import export
from prophase.sizing.kind_recommendation import Gate, recommend
from prophase.study.proof.candidate import Candidate, candidate_of, read_candidate


@pytest.mark.parametrize("form", ["json", "csv"])
def test_what_size_exports_is_read_back_as_it_was_made(
    pipeline_jobs: pd.DataFrame, tmp_path: Path, form: str
) -> None:
    advice = recommend(pipeline_jobs, gate=Gate(least_saving=0.2))
    path = tmp_path / f"advice.{form}"
    path.write_text(export(advice, form))
    read, made = read_candidate(path), Candidate.made(advice)
    assert set(read.changed) == set(made.changed) == {"ann/align"}
    one, other = read.changed["ann/align"], made.changed["ann/align"]
    assert one.ladder == pytest.approx(other.ladder)
    assert one.saving == pytest.approx(other.saving)


def test_the_dictionary_of_an_advice_is_an_advice_again(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(
        '{"tasks": [{"task": "a", "advice": 2, "2nd": 4, "saving_pct": 50, "oom_pct": 1}]}'
    )
    first = read_candidate(path)
    path.write_text(json.dumps(first.to_dict()))
    assert read_candidate(path).tasks == first.tasks


def test_gpus_are_read_as_what_can_be_given() -> None:
    asked = {"task": "a", "ladder": [0.4, 1.2, 2]}
    assert candidate_of({"resource": "gpu", "tasks": [asked]}).tasks["a"].ladder == (0.4, 2.0, 2.0)
    assert candidate_of({"resource": "cpu", "tasks": [asked]}).tasks["a"].ladder == (0.4, 1.2, 2.0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "neither JSON nor .csv"),
        ("a.json", "[1]", "no list of tasks"),
        ("a.json", '{"tasks": []}', "recommendation for no task"),
        ("a.json", '{"tasks": [{"advice": 1}]}', "row 1 names no task"),
        ("a.json", '{"tasks": [{"task": "t"}]}', "has no recommendation"),
        ("a.json", '{"tasks": [{"task": "t", "advice": "much"}]}', "not a number"),
        ("a.json", '{"tasks": [{"task": "t", "advice": -1}]}', "above 0"),
        ("a.json", '{"tasks": [{"task": "t", "advice": NaN}]}', "is nan"),
        ("a.json", '{"tasks": [{"task": "t", "ladder": [1, NaN, 3]}]}', "is nan"),
        ("a.json", '{"tasks": [{"task": "t", "ladder": 5}]}', "list of numbers"),
        ("a.json", '{"tasks": [{"task": "t", "ladder": [5, 3]}]}', "let requests rise"),
        ("a.json", '{"resource": "joy", "tasks": [{"task": "t", "advice": 1}]}', "no resource"),
        ("a.csv", "task,advice\nt,1\nt,2\n", "twice"),
        ("a.csv", "", "recommendation for no task"),
    ],
)
def test_a_broken_advice_says_what_is_wrong(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=said):
        read_candidate(tmp_path / name)


def test_a_missing_advice_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="prophase size"):
        read_candidate(tmp_path / "none.json")
