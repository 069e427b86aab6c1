"""What ``import prophase as ph`` promises: these names, these signatures, nothing heavy."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import prophase as ph
from prophase import _front
from prophase.errors import ParameterError
from prophase.short_form import MOST_LINES, ShortForm
from prophase.trace import Trace

NAMES = [
    "Cluster", "Estimate", "Workload", "ask", "describe", "learn", "prove", "read", "simulate",
    "size", "study", "synth", "why",
]  # fmt: skip
#: what users may rely on; a change here is a change of the promise in docs/reference/stability.md
SIGNATURES = {
    "ask": "(model, job, *, targets=None)",
    "describe": "(history, *, short_below_s=3600.0, low_gpus=1.0, laws=True)",
    "learn": "(history, targets=None, *, method='default', seed=0)",
    "prove": "(history, recommendations=None, cluster=None, *, max_oom=0.01, min_saving=0.0, "
    "max_longer_wait=None, prior='none', min_memory_gib=0.03125, seed=0, **settings)",
    "read": "(path, *, source=None, options=None, by=None)",
    "simulate": "(jobs, cluster=None, *, order='fifo', place='best_fit', queue='skip', seed=42, "
    "**settings)",
    "size": "(history, *, risk=0.01, resource='auto', min_runs=10, min_saving=0.0, max_oom=None, "
    "by=None, prior='none', min_memory_gib=0.03125)",
    "study": "(history, out=None, **settings)",
    "synth": "(name='pai', *, seed=0, **parameters)",
    "why": "(jobs, cluster=None, *, order='fifo', place='best_fit', queue='skip', by='class', "
    "remove=True, seed=42, **settings)",
}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return ph.synth("pai", jobs=400, days=3.0)


@pytest.fixture(scope="module")
def workspace(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from prophase.trace import Workspace

    folder = tmp_path_factory.mktemp("front") / "ws"
    Workspace.create(folder).store_frames(
        trace.tables, source=trace.source, source_hash=trace.data_hash, clock=trace.clock
    )
    return folder


@pytest.fixture(scope="module")
def answers(trace: Trace) -> dict[str, ShortForm]:
    model = ph.learn(trace, ["duration_s"], method="backoff-median")
    cluster = ph.Cluster.parse("9x8")
    return {
        "Cluster": cluster,
        "Workload": ph.Workload.from_jobs(trace.jobs),
        "ask": ph.ask(model, {"user": "ann", "gpus": 1}),
        "describe": ph.describe(trace, laws=False),
        "learn": model,
        "prove": ph.prove(trace, splits=0, seeds=0),
        "read": trace,
        "simulate": ph.simulate(trace, cluster, leave_out_unfit=True),
        "size": ph.size(trace),
        "why": ph.why(trace, cluster, remove=False, leave_out_unfit=True),
    }


def _command(*words: str) -> Any:
    from prophase.cli.main import app

    done = CliRunner().invoke(app, [*words, "--format", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_public_names_are_these() -> None:
    assert sorted(ph.__all__) == sorted(NAMES)
    assert sorted(dir(ph)) == sorted([*NAMES, "__version__"])
    assert all(callable(getattr(ph, name)) for name in NAMES)


def test_the_signatures_are_those_promised() -> None:
    found = {}
    for name in SIGNATURES:
        signature = inspect.signature(getattr(_front, name))
        bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
        found[name] = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    assert found == SIGNATURES


def test_importing_prophase_loads_nothing_heavy() -> None:
    code = "import sys, prophase; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {
        "duckdb",
        "fastapi",
        "ibis",
        "matplotlib",
        "numba",
        "numpy",
        "pandas",
        "scipy",
        "typer",
    }
    assert not heavy & set(loaded.stdout.split())


def test_every_answer_is_short_in_a_shell_and_a_table_in_a_notebook(
    answers: dict[str, ShortForm],
) -> None:
    for name, answer in answers.items():
        lines = repr(answer).splitlines()
        assert 1 <= len(lines) <= MOST_LINES, name
        assert max(map(len, lines)) < 400, name
        page = answer._repr_html_()
        assert "<table" in page, name
        assert len(page) < 30_000, name


def test_every_answer_gives_its_numbers(answers: dict[str, ShortForm]) -> None:
    for name, answer in answers.items():
        assert isinstance(answer.table, pd.DataFrame), name
        assert len(answer.table), name
        json.dumps(answer.to_dict(), allow_nan=False, default=str)


def test_text_of_users_is_escaped_in_a_notebook() -> None:
    jobs = pd.DataFrame({"user": ["<script>"], "submit_s": [0.0], "duration_s": [1.0]})
    assert "<script>" not in ph.Workload.from_jobs(jobs.assign(job_id="a"))._repr_html_()


def test_size_gives_the_numbers_of_the_command(workspace: Path, trace: Trace) -> None:
    told = _command("size", str(workspace))
    for history in (workspace, trace):
        found = ph.size(history).to_dict()
        assert found == {name: told[name] for name in found}


def test_simulate_gives_the_numbers_of_the_command(workspace: Path, trace: Trace) -> None:
    told = _command("simulate", str(workspace), "--cluster", "9x8", "--order", "shortest",
                    "--leave-out-unfit")  # fmt: skip
    settings: dict[str, Any] = {"order": "shortest", "leave_out_unfit": True}
    for history in (workspace, trace, trace.jobs):
        found = ph.simulate(history, "9x8", **settings).to_dict()
        del found["notes"]
        assert found == {name: told[name] for name in found}


def test_a_study_of_tables_in_memory_needs_a_folder(trace: Trace) -> None:
    with pytest.raises(ParameterError, match="out="):
        ph.study(trace)


def test_the_package_study_is_also_the_function(trace: Trace, tmp_path: Path) -> None:
    import prophase.study

    assert prophase.study.StudyPlan("ws").trace == "ws"
    found = prophase.study(trace, tmp_path / "out", steps=("describe",))
    assert (found.folder / "report.html").is_file()
    assert repr(found).count("\n") < MOST_LINES


def test_a_replay_without_nodes_says_how_to_name_them(trace: Trace) -> None:
    with pytest.raises(ParameterError, match='cluster="100x8"'):
        ph.simulate(trace.jobs)


def test_what_is_neither_a_table_nor_a_path_is_named(trace: Trace) -> None:
    with pytest.raises(ParameterError, match="jobs are given as NoneType"):
        ph.simulate(None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cluster is given as int"):
        ph.simulate(trace, 5)  # type: ignore[arg-type]


def test_a_kept_model_answers_as_the_workspace_does(workspace: Path, tmp_path: Path) -> None:
    job = {"user": "ann", "gpus": 1}
    ph.learn(workspace, ["duration_s"]).save(tmp_path / "my.model")
    kept = ph.ask(tmp_path / "my.model", job)
    assert kept.to_dict() == ph.ask(workspace, job, targets=["duration_s"]).to_dict()


def test_recommendations_go_from_size_to_prove_as_they_are(trace: Trace) -> None:
    sized = ph.size(trace, min_saving=0.2, by="task")
    proof = ph.prove(trace, sized, splits=0, seeds=0)
    assert proof.advised_jobs > 0
    assert {one.task for one in proof.tasks} >= {one.task for one in sized.tasks if not one.keep}
