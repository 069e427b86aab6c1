"""The API against requests made up from its own description: no 5xx, no hang, nothing outside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from prophase.serve.app import create_app
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.settings import ServiceSettings

#: examples per route, well-formed and not; the same in every run, as all of our properties
EXAMPLES = int(os.environ.get("PROPHASE_FUZZ", "4"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def described(made_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description of a service whose long work is not begun."""
    folder = tmp_path_factory.mktemp("fuzzed")
    workspace = Path(shutil.copytree(made_workspace, folder / "ws"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BackgroundTasks, "_do", lambda self, task: self.cancel(task.id))
        app = create_app(
            workspace, ServiceSettings(open=True, reload_every_s=0, requests_per_s=0, timeout_s=30)
        )
        before = set(folder.rglob("*"))
        yield schemathesis.openapi.from_asgi("/v1/openapi.json", app)
        app.state.library.close()
        made = set(folder.rglob("*")) - before
        assert all((workspace / "service") in (path, *path.parents) for path in made)
        assert not (folder.parent / "service").exists()


def test_whatever_is_sent_gets_a_described_answer(described: Any) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) > 25
    failed = []
    for operation in operations:
        for mode in GenerationMode:
            try:
                _try_out(operation, mode)
            except (Unsatisfiable, SkipTest):
                # a route without parameters cannot be asked wrongly
                continue
            except Exception as error:
                failed.append(f"{operation.method} {operation.path}: {error}")
    assert not failed, "\n\n".join(failed)


def _try_out(operation: Any, mode: GenerationMode) -> None:
    """Send requests to one route: well-formed ones and others."""

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    def send(case: schemathesis.Case) -> None:
        answer = case.call()
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            assert answer.headers["content-type"][0] == "application/problem+json"
            assert answer.json()["detail"]

    send()
