"""What slurmrestd sends in its releases, as sacct would say it."""

from __future__ import annotations

from typing import Any

import pytest

from prophase.errors import FetchError
from prophase.integrations.slurm.rest import SlurmRelease, SlurmRest
from prophase.trace.readers.sacct_json import rest_rows


def _described(monkeypatch: pytest.MonkeyPatch, paths: dict[str, Any]) -> SlurmRest:
    monkeypatch.setattr(SlurmRest, "get", lambda *_, **__: {"paths": paths})
    return SlurmRest("http://slurm:6820", "ann", "secret")


def test_newer_releases_are_asked_for_attempts_before_a_requeue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hides = {"get": {"parameters": [{"name": "users"}, {"name": "show_duplicates"}]}}
    paths = {"/slurmdb/v0.0.38/jobs": {"get": {}}, "/slurmdb/v0.0.42/jobs/": hides}
    assert _described(monkeypatch, paths).release() == SlurmRelease("v0.0.42", True)
    del paths["/slurmdb/v0.0.42/jobs/"]
    assert _described(monkeypatch, paths).release() == SlurmRelease("v0.0.38", False)


def test_a_site_without_accounting_over_http_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FetchError, match="offers no accounting in a release that is known"):
        _described(monkeypatch, {"/slurmdb/v0.0.36/jobs": {}}).release()


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        ("COMPLETED", "COMPLETED"),
        ({"current": ["TIMEOUT"]}, "TIMEOUT"),
        ({"current": ["PENDING", "REQUEUED"]}, "REQUEUED"),
        ({"current": []}, ""),
    ],
)
def test_a_state_is_one_word(sent: object, state: str) -> None:
    (row,) = rest_rows({"jobs": [{"job_id": 2, "state": sent}]})
    assert row["State"] == state
