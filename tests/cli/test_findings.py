"""prophase findings, as typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.trace.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    jobs = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "user": ["u", "u", "v"],
            "start_s": [0.0, 10.0, 20.0],
            "duration_s": [100.0, 100.0, 100.0],
            "request_gpus": [0.5, 0.5, 1.0],
        }
    )
    folder = tmp_path / "ws"
    Workspace.create(folder).store_frames({"jobs": jobs}, source="test", source_hash="ab" * 32)
    return folder


def test_numbers_published_numbers_and_definitions_stand_in_one_line(prophase, workspace):
    done = prophase("findings", workspace)
    assert done.returncode == 0, done.stderr
    assert ["2", "1,300", "users"] in [line.split() for line in done.stdout.splitlines()]
    assert "not computable: column wait_s missing" in done.stdout
    assert "needs: prophase simulate" in done.stdout
    assert "numbers could be computed for this trace" in done.stdout
    assert "nan " not in done.stdout


def test_json_and_csv_hold_the_same_numbers(prophase_here, workspace):
    document = json.loads(prophase_here("findings", workspace, "--format", "json").stdout)
    scale = next(one for one in document["findings"] if one["key"] == "scale")
    users = next(figure for figure in scale["figures"] if figure["what"] == "users")
    assert (users["here"], users["published"]) == (2.0, [1300.0])
    assert "MLaaS in the Wild" in document["study"]
    table = prophase_here("findings", workspace, "--format", "csv", "--only", "scale").stdout
    rows = {row["what"]: row["here"] for row in csv.DictReader(io.StringIO(table))}
    assert rows["users"] == "2.0"
    assert len(rows) == 5


def test_an_unknown_finding_is_refused(prophase_here, workspace):
    done = prophase_here("findings", workspace, "--only", "scales")
    assert done.returncode == 2
    assert "Did you mean 'scale'" in done.stderr
