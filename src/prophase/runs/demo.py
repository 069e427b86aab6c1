"""The built-in example: from nothing to exported rows."""

from __future__ import annotations

import shutil
from pathlib import Path

from prophase.errors import storage_error
from prophase.runs.campaign import Campaign

#: quicker than in production, where a run takes an hour
_QUICK = ("deploy", "check_deploy", "execute", "check_execute", "profile", "check_profile")


def example_campaign(folder: Path, *, quick: bool = False) -> Campaign:
    """Copy the example below a folder, make a campaign of it and register its runs.

    Parameters
    ----------
    quick : bool, default=False
        Register the heavy scenario alone, at one date.
    """
    source = folder / "example"
    try:
        if not source.exists():
            ignored = shutil.ignore_patterns("__init__.py", "__pycache__")
            shutil.copytree(Path(__file__).parent / "example", source, ignore=ignored)
    except OSError as cause:
        raise storage_error(cause, source) from cause
    campaign = Campaign.create(folder / "campaign", source / "pipeline.yaml")
    scenarios = "heavy.yaml" if quick else "scenarios.yaml"
    campaign.register(source / scenarios, actor="demo")
    for branch in _QUICK:
        campaign.set(f"{branch}.interval_s=0.2", actor="demo")
    return campaign
