"""The demo at its smallest: everything that it shows, in a few seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from prophase.cli.demo import make_demo
from prophase.cli.demo_data import DemoSize

SMALL = DemoSize(
    2_000, 2.0, 1.0, 4, 100,
    {"seeds": 2, "splits": 2, "targets": ("duration_s",), "methods": ("backoff-median",),
     "steps": ("lint", "describe", "profiles", "predictions", "sizing", "proof")},
)  # fmt: skip


def made_demo(folder: Path) -> Path:
    """Make the workspace of a small demo as ``prophase demo`` does, with the fewest steps."""
    fewest = replace(SMALL, plan={**SMALL.plan, "steps": ("describe", "sizing", "proof")})
    make_demo(folder, fewest, 0, lambda step, percent: None)
    return folder
