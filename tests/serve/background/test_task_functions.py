from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prophase.errors import InputError
from prophase.serve.app import create_app
from prophase.serve.background.task_functions import import_upload
from prophase.serve.settings import ServiceSettings
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import UPLOADS

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Workspace.create(tmp_path / "ws").folder


def upload(folder: Path, text: str, **chosen: Any) -> dict[str, Any]:
    room = folder / UPLOADS / "one"
    room.mkdir(parents=True)
    (room / "jobs.csv").write_text(text)
    wanted = {
        "upload": "one", "name": "jobs.csv", "source": None, "mapping": None, "keep": [],
        "max_bad": 0.01, "mode": "new",
    }  # fmt: skip
    try:
        return import_upload(folder, wanted | chosen, lambda step, percent: None)
    finally:
        assert not room.exists()


def test_a_known_source_is_recognised_and_its_rows_are_counted(folder: Path) -> None:
    told = upload(folder, PHILLY)
    assert told["tables"]["jobs"]["kept"] == 1
    assert (told["path"], told["mapping"]) == ("jobs.csv", None)
    assert Workspace(folder).tables["jobs"].command == "POST /v1/import"


def test_a_damaged_file_is_refused_without_a_word_of_where_it_lies(folder: Path) -> None:
    with pytest.raises(InputError, match=r"^jobs.csv: 1 of 1 rows of jobs are damaged") as refusal:
        upload(folder, PHILLY.replace("66.0,1", "long,1"), source="philly")
    assert str(folder) not in str(refusal.value)
    assert not Workspace(folder).tables


def test_columns_that_say_nothing_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="do not tell what they are"):
        upload(folder, "a,b\nx,y\n")


def test_a_corrected_mapping_replaces_what_was_guessed(folder: Path) -> None:
    text = "id,len,mem_req_gb\n1,60,8\n2,70,8\n"
    guessed = upload(folder, text)["mapping"]
    assert "duration_s" not in guessed
    corrected = guessed.replace(
        "[jobs.columns]", '[jobs.columns]\nduration_s = {column = "len", unit = "min"}'
    )
    upload(folder, text, mapping=corrected, mode="replace")
    assert Workspace(folder).read("jobs")["duration_s"].tolist() == [3600.0, 4200.0]


@pytest.mark.parametrize(
    ("name", "body"), [("../jobs.csv", b"x"), (".hidden", b"x"), ("a/b", b"x"), ("jobs.csv", b"")]
)
def test_a_strange_name_or_no_file_at_all_is_refused(folder: Path, name: str, body: bytes) -> None:
    with TestClient(create_app(folder, ServiceSettings(open=True))) as client:
        answer = client.post("/v1/import", params={"name": name}, content=body)
    assert answer.status_code == 422
    assert not (folder / UPLOADS).exists()
