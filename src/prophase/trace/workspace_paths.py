"""Where a workspace keeps what is learned of its jobs and what is reported about them."""

from __future__ import annotations

from pathlib import Path

_MODELS = Path("models")
#: what predicts duration and use
PREDICTIONS = _MODELS / "predictions.model"
#: what predicts a job's profile from its metadata
CLASSIFIER = _MODELS / "classifier.model"
#: the profiles themselves
PROFILES = _MODELS / "profiles.model"
#: the phases of running jobs
PHASES = _MODELS / "phases.model"
#: what each task should ask for
REQUESTS = _MODELS / "requests.model"
#: bins of memory that runs are predicted to fall into
BINS = _MODELS / "bins.model"
#: finished jobs as they are watched, and what was noticed
WATCH = Path("watch")
#: what the service keeps for itself: tokens, reports of jobs, tasks
SERVICE = Path("service")
#: finished jobs that were reported to the service
REPORTED = SERVICE / "feedback.sqlite"
#: files that were sent to the service and are not read yet
UPLOADS = SERVICE / "uploads"
