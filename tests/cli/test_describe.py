"""prophase describe, as typed."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.trace.workspace import Workspace

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(300)],
            "user": random.integers(0, 9, 300).astype(str),
            "name": random.integers(0, 9, 300).astype(str),
            "submit_s": np.sort(random.uniform(0, 9 * 86400, 300)),
            "duration_s": random.lognormal(6, 2, 300),
            "request_gpus": random.choice([0.0, 0.5, 4.0], 300),
        }
    )
    folder = tmp_path / "ws"
    Workspace.create(folder).store_frames({"jobs": jobs}, source="test", source_hash="ab" * 32)
    return folder


def test_a_workspace_is_described_in_words_and_tables(prophase: Run, workspace: Path) -> None:
    done = prophase("describe", workspace)
    assert done.returncode == 0
    assert "test: jobs 300 rows; data abababababab" in done.stdout
    assert "Laws of the run time" in done.stdout
    assert "Waits: no submit and start times" in done.stdout
    assert "--page report.html" in done.stdout
    assert "nan" not in done.stdout
    assert done.stderr == ""


def test_json_holds_everything_and_nothing_else_is_on_stdout(
    prophase_here: Run, workspace: Path
) -> None:
    done = prophase_here("describe", workspace, "--format", "json", "--low-gpus", "2")
    document = json.loads(done.stdout)
    assert document["counts"]["jobs"] == 300
    assert document["classes"]["low_gpus"] == 2
    assert document["waits"] == {"not_computable": "no submit and start times"}
    assert {"law", "ks", "p_value", "aic", "verdict"} <= set(document["service_laws"]["fits"][0])


def test_csv_lists_single_numbers(prophase_here: Run, workspace: Path) -> None:
    done = prophase_here("describe", workspace, "--format", "csv", "--no-laws")
    rows = {(r["part"], r["what"]): r["value"] for r in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["counts", "jobs"] == "300"
    assert rows["waits", "not_computable"] == "no submit and start times"


def test_the_page_and_the_figures_are_written_and_said_on_stderr(
    prophase_here: Run, workspace: Path, tmp_path: Path
) -> None:
    done = prophase_here(
        *("describe", workspace, "--page", "page.html", "--figures", "figures", "--no-laws"),
        *("--short-below", "30min"),
    )
    assert done.returncode == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--short-below 30min" in text
    assert "ran for less than 30\u00a0min" in text
    assert (tmp_path / "figures" / "run-time-cdf.png").stat().st_size > 1000
    assert "Wrote page.html." in done.stderr
    assert "Wrote" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--short-below", "soon"), "--short-below: 'soon' is not a duration"),
        (("--page", "."), "is a folder. Name a file"),
        (("--page", "no/where.html"), "does not exist"),
        (("--figures", "ws/prophase.toml"), "is a file. Name a folder"),
        (("--low-gpus", "-1"), "low_gpus=-1"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_the_work(
    prophase_here: Run, workspace: Path, arguments: tuple[str, str], said: str
) -> None:
    done = prophase_here("describe", workspace, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_path_with_nothing_there_is_named(prophase_here: Run) -> None:
    done = prophase_here("describe", "nowhere")
    assert done.returncode == 2
    assert "nowhere: there is nothing at this path" in done.stderr
