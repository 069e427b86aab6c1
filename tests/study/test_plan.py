from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import FormatError, MissingFileError, ParameterError
from prophase.study.plan import StudyPlan, plan_of, plan_text, read_plan
from prophase.study.steps.registry import steps_named


def test_a_plan_reads_shares_tables_and_paths_beside_it(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("node_id\n")
    path = tmp_path / "plan.toml"
    path.write_text(
        'trace = "ws"\ncluster = "nodes.csv"\nseed = 7\nsteps = ["sizing"]\n'
        '[limits]\nmax_oom = "0.5%"\nmin_saving = 0.3\n[size]\nkind = ["group", "task"]\n'
    )
    plan = read_plan(path)
    assert plan.trace == str(tmp_path / "ws")
    assert plan.cluster == str(tmp_path / "nodes.csv")
    assert (plan.max_oom, plan.min_saving, plan.seed) == (0.005, 0.3, 7)
    assert plan.kind == ("group", "task")


def test_a_cluster_in_short_is_no_path() -> None:
    assert plan_of({"trace": "ws", "cluster": "4x8 V100"}).cluster == "4x8 V100"


def test_the_plan_is_written_with_every_default() -> None:
    written = StudyPlan("ws").to_dict()
    assert plan_of({k: v for k, v in written.items() if v is not None}) == StudyPlan("ws")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trace = ", "is not TOML"),
        ("seed = 1", "names no trace"),
        ('trace = "ws"\nmax_ooom = 0.1', "max_oom"),
        ('trace = "ws"\nlimits = 3', "is a table"),
        ('trace = "ws"\nmax_oom = [1]', "not a share"),
        ('trace = "ws"\nmax_oom = 3', "not a share"),
        ('trace = "ws"\nseed = "one"', "whole number"),
        ('trace = "ws"\nsteps = "lint"', "list of texts"),
        ('trace = "ws"\noptions = 3', "table of names"),
        ("trace = 3", "is a text"),
    ],
)
def test_a_wrong_plan_says_which_line_and_what_it_should_be(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(FormatError, match=said):
        read_plan(tmp_path / "plan.toml")


def test_a_missing_plan_and_unknown_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ParameterError, match="sizing"):
        steps_named(["sizeing"])
    with pytest.raises(ParameterError, match="most_jobs"):
        StudyPlan("ws", most_jobs=1)


def test_steps_come_in_their_order_with_what_they_read() -> None:
    assert [one.name for one in steps_named(["proof", "lint"])] == ["lint", "sizing", "proof"]


def test_a_plan_that_is_written_reads_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("")
    plan = StudyPlan(str(tmp_path / "ws"), kind=("user", "task"), options={"map": "m.toml"})
    (tmp_path / "plan.toml").write_text(plan_text(plan))
    assert read_plan(tmp_path / "plan.toml") == plan.changed(
        options={"map": str(tmp_path / "m.toml")}
    )
