from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingFileError, ParameterError
from prophase.runs.campaign import Campaign
from prophase.runs.recommended_ladders import of_pipeline, of_task, read_recommended_ladders
from prophase.runs.worker import Worker
from prophase.sizing.recommender import learn_recommender
from prophase.trace.workspace_paths import REQUESTS

ROW = {"task": "need", "advice": 0.125, "2nd": 0.3, "3rd": 0.3, "why": "saves 80 %"}
KEPT = {"task": "other", "advice": 9.0, "2nd": 9.0, "3rd": 9.0, "why": "keep: too few runs (1)"}
PIPELINE = """
name: hungry
sample_every: 1s
{advice}
tasks:
  need:
    command: ["{{python}}", -S, -c, "x = bytearray(180 * 2**20)"]
    memory: 4GiB
"""


def written(folder: Path, *rows: dict, **document: object) -> Path:
    path = folder / "advice.json"
    path.write_text(json.dumps({"resource": "memory", "tasks": rows, **document}))
    return path


def test_the_rungs_of_each_task_that_changes_are_read(tmp_path):
    assert read_recommended_ladders(written(tmp_path, ROW, KEPT)) == {"need": (0.125, 0.3)}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([ROW]))
    assert read_recommended_ladders(path) == {"need": (0.125, 0.3)}


def test_a_workspace_with_recommendations_is_read_too(tmp_path):
    jobs = pd.DataFrame({"task": ["align"] * 40, "memory_peak_gib": 2.0, "duration_s": 600.0})
    jobs = jobs.assign(job_id=range(40), request_memory_gib=16.0)
    (tmp_path / REQUESTS).parent.mkdir()
    learn_recommender(jobs).save(tmp_path / REQUESTS)
    (ladder,) = read_recommended_ladders(tmp_path).values()
    assert 2.0 <= ladder[0] < 4.0
    assert list(ladder) == sorted(set(ladder))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1 column 2: is not JSON"),
        ('{"rows": []}', "no list under 'tasks'"),
        ('{"resource": "cpu", "tasks": []}', "recommends cpu"),
        ('[{"task": "a"}]', "entry 1 under 'tasks'"),
        ('[{"task": "a", "advice": "much"}]', "task a: advice is 'much', not GiB"),
        ('[{"task": "a", "advice": -1}]', "advice is -1"),
    ],
)
def test_what_is_no_recommendation_is_refused_with_what_to_do(tmp_path, text, said):
    path = tmp_path / "advice.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=said):
        read_recommended_ladders(path)


def test_a_file_or_workspace_without_recommendations_says_how_to_make_it(tmp_path):
    with pytest.raises(MissingFileError, match="prophase size WS --format json"):
        read_recommended_ladders(tmp_path / "none.json")
    with pytest.raises(MissingFileError, match="prophase learn"):
        read_recommended_ladders(tmp_path)


def test_recommendations_must_be_about_the_task():
    assert of_task({"a": (1.0, 2.0)}, None, "x") == [1.0, 2.0]
    with pytest.raises(ParameterError, match="say which with --task"):
        of_task({"a": (1.0,), "b": (2.0,)}, None, "x")
    with pytest.raises(ParameterError, match="no recommendation for 'c'"):
        of_task({"a": (1.0,), "b": (2.0,)}, "c", "x")
    with pytest.raises(
        ParameterError, match="no recommendation for a task of this pipeline, only for b"
    ):
        of_pipeline({"b": (2.0,)}, ["a"], "x")


def campaign(folder: Path, advice: str = "") -> Campaign:
    (folder / "p.yaml").write_text(PIPELINE.format(advice=advice))
    (folder / "s.yaml").write_text("dates: 2024-01-01\nscenarios: [{scenario: one}]")
    made = Campaign.create(folder / "c", folder / "p.yaml")
    made.register(folder / "s.yaml")
    for branch in ("deploy", "check_deploy", "execute", "check_execute", "profile"):
        made.set(f"{branch}.interval_s=0.05")
    return made


def test_a_campaign_begins_with_the_recommendation_and_climbs_its_ladder(tmp_path):
    written(tmp_path, ROW, KEPT)
    made = campaign(tmp_path, "advice: advice.json")
    Worker(made).work()
    tried = [(r["status"], r["request_memory_gib"]) for _, r in made.store.task_rows()]
    made.close()
    assert tried == [("oom", 0.125), ("completed", 0.3)]


def test_recommendations_are_set_replaced_and_forgotten_while_the_campaign_runs(tmp_path):
    made = campaign(tmp_path)
    assert made.settings.allocations() == {}
    assert made.set(f"advice={written(tmp_path, ROW)}")[1].endswith("1 of 1 tasks")
    made.set("task.need.attempts=2")
    assert made.settings.allocations() == {"need": {"advised_gib": [0.125, 0.3], "attempts": 2.0}}
    made.set("advice=default")
    assert made.settings.recommended() == ("", {})
    with pytest.raises(ParameterError, match="no recommendation for a task"):
        made.set(f"advice={written(tmp_path, {**ROW, 'task': 'elsewhere'})}")
    made.close()


def test_registering_again_rereads_the_pipelines_recommendations_unless_another_was_set(tmp_path):
    written(tmp_path, ROW)
    made = campaign(tmp_path, "advice: advice.json")
    written(tmp_path, {**ROW, "advice": 0.2})
    made.register(tmp_path / "s.yaml")
    assert made.settings.recommended()[1] == {"need": [0.2, 0.3]}
    other = tmp_path / "other"
    other.mkdir()
    made.set(f"advice={written(other, ROW)}")
    made.register(tmp_path / "s.yaml")
    assert made.settings.recommended()[1] == {"need": [0.125, 0.3]}
    made.close()


def test_recommendations_of_another_version_of_the_code_wait_for_it(tmp_path):
    made = campaign(tmp_path)
    (run,) = made.store.runs()
    own = {**ROW, "code": f"version={run.version[:8]}"}
    assert made.set(f"advice={written(tmp_path, own)}")[1].endswith("1 of 1 tasks")
    other = {**ROW, "code": "version=00000000"}
    said = made.set(f"advice={written(tmp_path, other)}")[1]
    assert said.endswith("0 of 1 tasks; 1 of another version of the code wait for it")
    assert made.settings.allocations() == {}
    # the code changes: what was learnt from the version before is stale
    made.set(f"advice={written(tmp_path, own)}")
    (tmp_path / "p.yaml").write_text(PIPELINE.format(advice="") + "\n# another version\n")
    made.register(tmp_path / "s.yaml", ["2024-01-02"])
    assert made.settings.recommended()[1] == {}
    made.close()
