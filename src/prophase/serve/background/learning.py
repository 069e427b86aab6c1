"""Learn a workspace's models anew, with the result of ``prophase learn``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.serve.background.kinds import Progress


def learn_anew(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Learn predictions, requests and profiles from the jobs of the workspace."""
    from prophase.study.learning import learn_models

    found = learn_models(
        folder,
        arguments.get("targets"),
        method=arguments.get("method", "default"),
        seed=arguments.get("seed", 0),
        show=progress,
    )
    return found.to_dict()
