"""Hostile jobs, series and files: a clear answer, no 5xx, nothing written elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prophase.profile.submission.submission import ALIASES
from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.trace.schema import JOBS

NAMES = sorted({*JOBS.names, *ALIASES, "attr_x", "after_y", "gpu_type", "__class__", ""})
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 1e308, -1e308, 5e-324, 0, -0.0]),
    st.floats(allow_nan=True),
    st.text(max_size=20),
    st.sampled_from(["16Gi", "9" * 400, "1e999", "-5h", "nan", "inf", "\x00", "\ud800", "../../x"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
JOB = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8)
FEW = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def hosted(made_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    workspace = shutil.copytree(made_workspace, tmp_path_factory.mktemp("hostile") / "ws")
    chosen = ServiceSettings(open=True, reload_every_s=0, requests_per_s=0)
    with TestClient(create_app(workspace, chosen), raise_server_exceptions=False) as client:
        yield client


def post(client: TestClient, path: str, body: Any) -> Any:
    text = json.dumps(body).encode("utf-8", "surrogatepass")
    said = client.post(path, content=text, headers={"content-type": "application/json"})
    assert said.status_code < 500, (said.text, body)
    if said.status_code >= 400:
        assert said.json()["detail"]
    return said


@FEW
@given(job=JOB)
def test_no_job_upsets_a_question(hosted: TestClient, job: dict[str, Any]) -> None:
    post(hosted, "/v1/predict", {"jobs": [job], "targets": None})
    post(hosted, "/v1/nodes", {"job": job, "enough": 5})


@settings(FEW, max_examples=15)
@given(job=JOB)
def test_no_job_upsets_an_explained_answer(hosted: TestClient, job: dict[str, Any]) -> None:
    post(hosted, "/v1/ask", {"jobs": [job], "targets": ["duration_s"]})


@FEW
@given(job=JOB)
def test_no_report_upsets_what_is_learnt(hosted: TestClient, job: dict[str, Any]) -> None:
    said = post(hosted, "/v1/observe", {"jobs": [{"duration_s": 5, "job_id": "x", **job}]})
    if said.status_code == 200 and said.json()["taken"]:
        post(hosted, "/v1/reload", None)
        post(hosted, "/v1/predict", {"jobs": [{"user": "u1"}]})
        assert hosted.get("/v1/profiles").status_code == 200


@settings(FEW, max_examples=40)
@given(
    times=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6),
    values=st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=6),
    name=st.sampled_from(["cpu_cores", "memory_gib", "series_id", "x"]),
)
def test_no_series_upsets_the_phases(
    hosted: TestClient, times: list[float], values: list[float | None], name: str
) -> None:
    series = {"time_s": times, "metrics": {name: values, "memory_gib": [1.0] * len(times)}}
    post(hosted, "/v1/phases", {"series": [series]})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 5_000,
        b"\x80\x04\x95cos\nsystem\n(S'touch owned'\ntR.",
        b"PK\x03\x04" + b"\xff" * 2_000,
        b"PAR1" + b"\xff" * 2_000 + b"PAR1",
        b"a,b\n" + b"1," * 50_000,
        b'"' * 20_000,
        "\ufeffjob_id,user\n../../etc/passwd,\x00\n".encode(),
        b"{" * 1_000,
        b"&a [*a, *a]\n" * 500,
        b"SQLite format 3\x00" + b"\xff" * 1_000,
    ],
    ids=lambda content: repr(content[:12]),
)
@pytest.mark.parametrize("name", ["jobs.csv", "job.yaml", "job.json", "job.sh", "x.model"])
def test_no_file_upsets_the_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    """Readers refuse in our words, or read; they write nothing and run nothing."""
    from prophase.errors import ProphaseError
    from prophase.profile.predict.job_model import JobModel
    from prophase.profile.submission.job_file import read_submissions
    from prophase.trace.trace_tables import open_trace

    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    path = tmp_path / name
    path.write_bytes(content)
    before = set(tmp_path.rglob("*"))
    for read in (open_trace, read_submissions, JobModel.load):
        with suppress(ProphaseError):
            read(path)
    assert set(tmp_path.rglob("*")) == before
