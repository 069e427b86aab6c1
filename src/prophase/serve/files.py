"""The files of a workspace that a service keeps an eye on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prophase.trace.places import CLASSIFIER, PHASES, PREDICTIONS, PROFILES, REQUESTS
from prophase.trace.workspace import INDEX

#: what a file looks like from outside: time, size and inode; None if it is not there
Stamp = tuple[int, int, int] | None
#: name of a model -> its file in the workspace
MODELS = {
    "predictions": PREDICTIONS,
    "classifier": CLASSIFIER,
    "profiles": PROFILES,
    "phases": PHASES,
    "requests": REQUESTS,
}


def stamps_of(folder: Path) -> dict[str, Stamp]:
    """Return how the list of tables and each model look now."""
    files = {"tables": folder / INDEX, **{n: folder / p for n, p in MODELS.items()}}
    return {name: _stamp(path) for name, path in files.items()}


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_model_of(name: str, path: Path) -> Any:
    """Return a model of :data:`MODELS`; a damaged or foreign file is refused."""
    if name == "predictions":
        from prophase.profile.predict.job_model import JobModel

        return JobModel.load(path)
    if name == "classifier":
        from prophase.profile.classify import ProfileClassifier

        return ProfileClassifier.load(path)
    if name == "phases":
        from prophase.phase.detect import PhaseDetector

        return PhaseDetector.load(path)
    if name == "requests":
        from prophase.sizing.advising.requests import Requests

        return Requests.load(path)
    from prophase.profile.clusters.profiler import WorkloadProfiler

    return WorkloadProfiler.load(path)
