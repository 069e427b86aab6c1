"""Where a workspace keeps what was learnt about its jobs."""

from __future__ import annotations

from pathlib import Path

#: what predicts duration and use
PREDICTIONS = Path("models") / "predictions.model"
#: what tells a job's profile from its metadata
CLASSIFIER = Path("models") / "classifier.model"
#: the profiles themselves
PROFILES = Path("models") / "profiles.model"
