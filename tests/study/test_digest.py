"""The digest counts what happened, once per job, and names the change that is worth most."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from prophase.cli.main import app
from prophase.errors import InputError, ParameterError
from prophase.sizing.recommender import learn_recommender
from prophase.study.digest import digest_result, digests, mail
from prophase.study.submission.job_recommender import JobRecommender
from prophase.trace.workspace import Workspace

HOUR = 3600.0


@pytest.fixture
def jobs() -> pd.DataFrame:
    """Forty jobs of ann that ask for four times what they use; one of bob, killed and cured."""
    place = pd.RangeIndex(40)
    ann = pd.DataFrame({"job_id": [f"a{one}" for one in place], "user": "ann", "group": "nlp"})
    ann["name"], ann["status"], ann["request_memory_gib"] = "train", "completed", 8.0
    ann["memory_peak_gib"], ann["submit_s"] = 2.0, [HOUR * one for one in place]
    bob = pd.DataFrame({"job_id": ["b", "b#2"], "status": ["oom", "completed"]})
    bob["user"], bob["group"], bob["name"] = "bob", "bio", "plot"
    bob["request_memory_gib"], bob["memory_peak_gib"] = [1.0, 2.0], [1.0, 1.5]
    bob["submit_s"] = [HOUR, 2 * HOUR]
    found = pd.concat([ann, bob], ignore_index=True)
    found["duration_s"], found["instances"] = HOUR, 1.0
    return found.assign(start_s=found["submit_s"], end_s=found["submit_s"] + HOUR)


def test_memory_is_counted_in_gib_hours_and_attempts_as_one_job(jobs: pd.DataFrame) -> None:
    ann, bob = digests(jobs)
    assert (ann.jobs, ann.memory_reserved_gib_h, ann.memory_unused_gib_h) == (40, 320.0, 240.0)
    assert (bob.jobs, bob.killed, bob.cured) == (1, 1, 1)
    assert [one.name for one in digests(jobs, by="account")] == ["nlp", "bio"]
    assert digests(jobs, span_s=10 * HOUR)[0].jobs == 10


def test_the_mail_says_the_one_thing_to_do(jobs: pd.DataFrame) -> None:
    teller = JobRecommender(requests=learn_recommender(jobs[jobs["user"] == "ann"]))
    text = mail(digests(jobs, recommender=teller)[0])
    assert text.startswith("Subject: Your jobs of the last 7 d: 40 ended, 75 % of the memory not")
    assert "One thing to do: submit train with --mem=" in text
    assert len(digest_result(digests(jobs), by="user").records) == 2


def test_what_cannot_be_counted_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="unknown"):
        digests(jobs, by="moon")
    with pytest.raises(InputError, match="end_s"):
        digests(jobs.drop(columns="end_s"))


def test_the_command_writes_a_file_each(jobs: pd.DataFrame, tmp_path: Path) -> None:
    Workspace.create(tmp_path / "ws").store_frames({"jobs": jobs}, source="t", source_hash="1")
    words = ["digest", str(tmp_path / "ws"), "--out", str(tmp_path / "mails")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert sorted(one.name for one in (tmp_path / "mails").iterdir()) == ["ann.txt", "bob.txt"]
