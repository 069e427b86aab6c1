from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from prophase.errors import FormatError, ParameterError, WorkspaceError
from prophase.runs.campaign import Campaign
from prophase.runs.scenarios import dates_of

PIPELINE = """
scenario: [region, articles]
code: code
tasks:
  load: {command: "true"}
"""
SCENARIOS = """
defaults: {region: eu}
dates: 2024-01-01..2024-01-15/7
scenarios:
  - {scenario: small, articles: 10}
  - {scenario: large, articles: 900, region: us, dates: [2024-02-01]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "job.py").write_text("print(1)")
    return tmp_path


def campaign(folder: Path) -> Campaign:
    return Campaign.create(folder / "campaign", folder / "pipeline.yaml")


def register(folder: Path, text: str, *dates: str) -> tuple[int, int]:
    (folder / "s.yaml").write_text(text)
    return campaign(folder).register(folder / "s.yaml", dates)


def test_a_composite_file_is_split_by_scenario_and_date_once(folder):
    assert register(folder, SCENARIOS) == (4, 0)
    assert register(folder, SCENARIOS) == (0, 4)
    runs = campaign(folder).store.runs()
    assert [(r.scenario, r.attributes["region"], r.execution_date.month) for r in runs] == [
        ("small", "eu", 1),
        ("small", "eu", 1),
        ("small", "eu", 1),
        ("large", "us", 2),
    ]


def test_dates_of_the_command_take_the_place_of_those_in_the_file(folder):
    assert register(folder, SCENARIOS, "2024-05-01,2024-05-02") == (4, 0)
    days = {run.execution_date for run in campaign(folder).store.runs()}
    assert days == {date(2024, 5, 1), date(2024, 5, 2)}


def test_changed_job_code_is_another_version_and_the_old_one_is_kept(folder):
    register(folder, SCENARIOS)
    (folder / "code" / "job.py").write_text("print(2)")
    assert register(folder, SCENARIOS) == (4, 0)
    held = campaign(folder)
    codes = {held.assignment(run).code for run in held.store.runs()}
    assert sorted((code / "job.py").read_text() for code in codes) == ["print(1)", "print(2)"]


def test_a_commit_is_a_version(folder):
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", folder / "code", *identity, *words], check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    (folder / "pipeline.yaml").write_text(
        PIPELINE.replace("code: code", "code: {git: code, ref: HEAD}")
    )
    register(folder, SCENARIOS)
    (folder / "code" / "job.py").write_text("not committed")
    assert register(folder, SCENARIOS) == (0, 4)
    held = campaign(folder)
    code = held.assignment(held.store.run(1)).code
    assert (code / "job.py").read_text() == "print(1)"
    (folder / "pipeline.yaml").write_text(
        PIPELINE.replace("code: code", "code: {git: code, ref: nope}")
    )
    with pytest.raises(ParameterError, match="git says"):
        register(folder, SCENARIOS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenarios: [{scenario: a, artcles: 3}]", r"line 1 column 27: .*'artcles'. Did you mean"),
        ("scenarios: [{scenario: a, region: x}]", "lacks articles"),
        ("scenarios: [{region: x}]", "needs a name"),
        ("scenario: []", "a list under 'scenarios'"),
        ("scenarios: []\ndate: 1", "no key 'date'. Did you mean 'dates'"),
        ("defaults: {regio: x}\nscenarios: []", "'regio'"),
        (SCENARIOS.replace("large", "small"), "a second time"),
        (SCENARIOS.replace("01-15/7", "13-15"), "is no date"),
        (SCENARIOS.replace("articles: 10", "articles: [1]"), "must be one value"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place(folder, text, said):
    with pytest.raises(FormatError, match=said):
        register(folder, text)


def test_scenarios_without_dates_say_how_to_give_them(folder):
    with pytest.raises(ParameterError, match="--dates"):
        register(folder, "scenarios: [{scenario: a, region: x, articles: 1}]")


@pytest.mark.parametrize("text", ["2024-01-09..2024-01-01", "2024-01-01..2024-02-01/0", "soon"])
def test_dates_that_mean_nothing_are_refused(text):
    with pytest.raises(ParameterError):
        list(dates_of(text))


def test_a_campaign_belongs_to_one_pipeline(folder):
    campaign(folder)
    (folder / "other.yaml").write_text(PIPELINE)
    with pytest.raises(WorkspaceError, match="already a campaign"):
        Campaign.create(folder / "campaign", folder / "other.yaml")
    with pytest.raises(WorkspaceError, match="prophase runs init"):
        Campaign(folder / "nowhere")


def test_job_code_that_is_not_there_is_named(folder):
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("code: code", "code: gone"))
    with pytest.raises(FormatError, match="folder of the job code is not there"):
        register(folder, SCENARIOS)
