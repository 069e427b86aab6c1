"""Keep what this version writes, so that later ones are tried on it.

    python tools/upgrade_fixture.py

Writes `tests/upgrade/fixtures/VERSION.tar.gz`: a workspace with tables, models, a policy, a kept
replay, tokens, reported jobs, an audit log, and a campaign with its database; and beside it what
this version answers from them. Done once per release; a file that is there is never made again.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "upgrade" / "fixtures"
SERIES, POLICY = "series.csv", "models/memory.policy"
_PIPELINE = 'name: small\nscenario: [size]\ntasks:\n  first: {command: "true", memory: 256MiB}\n'


def make(folder: Path) -> None:
    """Fill a workspace with everything that this version writes."""
    from prophase.phase.detector import PhaseDetector
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.runs.campaign import Campaign
    from prophase.runs.executor import NoopExecutor
    from prophase.runs.worker import Worker
    from prophase.serve.audit import note_command
    from prophase.serve.tokens import TokenStore
    from prophase.study.feedback.store import FeedbackStore
    from prophase.study.workspace_models import learn_models
    from prophase.trace.synth.pai import make_pai
    from prophase.trace.workspace import Workspace
    from prophase.trace.workspace_paths import PHASES, PROFILES

    workspace = Workspace.create(folder)
    made = make_pai(jobs=120, days=2.0, random_state=0)
    workspace.store_frames(made.tables, source="pai2020", source_hash="synthetic", seed=0)
    jobs = workspace.read("jobs")
    WorkloadProfiler(random_state=0).fit(ended_jobs(jobs).jobs).save(folder / PROFILES)
    learn_models(folder, [name for name in ("duration_s", "memory_peak_gib") if name in jobs])
    usage = _usage()
    PhaseDetector(n_phases=2, window=1).fit(usage).save(folder / PHASES)
    usage.to_csv(folder / SERIES, index=False)
    _command("autoscale", "fit", folder / SERIES, "--allocate", "memory_gib", "--policies",
             "peak-growth,priced", "--choose", "peak-growth", "--out", folder / POLICY)  # fmt: skip
    _command("simulate", folder, "--cluster", "4x8 V100 96c 512g", "--leave-out-unfit",
             "--save-as", "kept")  # fmt: skip
    store = FeedbackStore(folder)
    store.add([{"job_id": "kept-1", "duration_s": 60.0}], "fixture")
    store.close()
    tokens = TokenStore(folder)
    tokens.add("reader", "read", days=None)
    tokens.add("nlp", "feedback", days=None, tenants=["nlp"])
    note_command(folder, "tools/upgrade_fixture.py", {"tokens": 2})
    home = folder / "campaign"
    home.mkdir()
    (home / "p.yaml").write_text(_PIPELINE, encoding="utf-8")
    (home / "s.yaml").write_text("scenarios: [{scenario: a, size: 1}]", encoding="utf-8")
    campaign = Campaign.create(home, home / "p.yaml")
    campaign.register(home / "s.yaml", ["2024-01-01..2024-01-03"])
    for name in ("deploy", "check_deploy", "execute", "check_execute", "profile", "check_profile"):
        campaign.set(f"{name}.interval_s=0.01")
    Worker(campaign, NoopExecutor(), name="fixture").work()
    campaign.database.close()


def _command(*words: object) -> str:
    """Return what a command prints."""
    from prophase.cli.main import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        app(args=[str(word) for word in words], standalone_mode=False)
    return printed.getvalue()


def _usage() -> Any:
    import pandas as pd

    rows = [
        {"series_id": f"s{series}", "time_s": 30.0 * n, "cpu_cores": 1.0 + 3.0 * (n // 10 % 2),
         "memory_gib": 2.0 + (n // 10 % 2)}
        for series in range(4) for n in range(60)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def answers(folder: Path) -> dict[str, Any]:
    """Return what is read from such a workspace; the same today and later."""
    from prophase.profile.predict.prediction_rows import predicted_rows
    from prophase.runs.campaign import Campaign
    from prophase.serve.audit import AuditLog
    from prophase.serve.loaded_workspace import MODELS, load_model_of
    from prophase.serve.tokens import TokenStore
    from prophase.study.feedback.store import FeedbackStore
    from prophase.trace.workspace import Workspace

    workspace = Workspace(folder)
    model = load_model_of("predictions", folder / MODELS["predictions"])
    job = {"job_id": "1", "user": str(workspace.read("jobs")["user"].iloc[0])}
    campaign = Campaign.open(folder / "campaign")
    try:
        runs = [(run.id, run.state.label) for run in campaign.store.runs()]
        rows = len(campaign.store.task_rows())
    finally:
        campaign.database.close()
    policy = ("autoscale", "recommend", folder / POLICY, folder / SERIES, "--format", "json")
    asked = json.loads(_command(*policy))["recommendations"]
    return {
        "tables": {name: len(workspace.read(name)) for name in sorted(workspace.tables)},
        "models": sorted(
            name
            for name, place in MODELS.items()
            if (folder / place).exists() and load_model_of(name, folder / place) is not None
        ),
        "predicted": {
            one["target"]: round(float(one["value"]), 3) for one in predicted_rows(model, [job])
        },
        "reported": [job["job_id"] for _, job in FeedbackStore(folder).since(0)],
        "tokens": [[one.name, one.role, list(one.tenants)] for one in TokenStore(folder).all()],
        "audited": [one.what for one in AuditLog(folder).entries()],
        "runs": [list(one) for one in runs],
        "task_rows": rows,
        "allocated": {row["series_id"]: round(row["allocation"], 3) for row in asked},
        "replay": json.loads(_command("report", folder, "kept", "--format", "json"))["title"],
    }


def main() -> int:
    """Make the fixture of this version."""
    from prophase.serve.backup import back_up
    from prophase.version import __version__

    target = FIXTURES / f"{__version__}.tar.gz"
    if target.exists():
        print(f"{target.name} is there already, and stays as it is.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "ws"
        make(folder)
        told = answers(folder)
        back_up(folder, target)
    target.with_suffix("").with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{target.name}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
