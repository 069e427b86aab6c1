"""Learn a workspace's models anew, as ``prophase learn`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.profile.places import PREDICTIONS
from prophase.serve.background.kinds import Progress


def learn_models(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Learn what predicts from the jobs of the workspace, and keep it there."""
    from prophase.profile.predict.job_model import learn
    from prophase.trace.loading import open_trace

    progress("reading the history", None)
    trace = open_trace(folder, tables=["jobs"])
    model = learn(
        trace.jobs,
        arguments.get("targets"),
        method=arguments.get("method", "default"),
        random_state=arguments.get("seed", 0),
        data_hash=trace.data_hash,
        progress=lambda target: progress(f"learning {target}", None),
    )
    checksum = model.save(folder / PREDICTIONS)
    return {"checksum": checksum, "jobs": model.jobs, "targets": list(model.targets)}
