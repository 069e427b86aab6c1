"""Which part of a GPU the nodes can give: whole ones, shares, or MIG profiles.

What a node shares stands among its features: a MIG profile as its maker writes it (``1g.5gb``),
``mps`` (any percentage), or ``time-slice-4`` and ``mps-4`` (so many jobs to a GPU).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from prophase.plural import counted
from prophase.sizing.kind_recommendation import Recommendation, ResourceRecommendations

#: a MIG profile: slices of seven, and GiB of memory
_MIG = re.compile(r"\b([1-7])g\.([0-9]+)gb\b")
_SHARED = re.compile(r"\b(time-?slice|mps)(?:[-_=:]?([0-9]+))?\b")
_SLICES = 7
#: parts of a GPU that MPS gives where nobody says how many
_PERCENT = 0.05


@dataclass(frozen=True)
class GpuGrant:
    """A part of a GPU that a job can be given, and who can give it."""

    share: float
    words: str


WHOLE = GpuGrant(1.0, "a whole GPU (any system)")


def gpu_grants(nodes: pd.DataFrame) -> list[GpuGrant]:
    """Return the parts of a GPU that nodes can give, smallest first.

    Examples
    --------
    >>> nodes = pd.DataFrame({"gpus": [8, 8], "features": ["a100,1g.5gb,3g.20gb", "v100"]})
    >>> [(round(one.share, 2), one.words.split(" (")[0]) for one in gpu_grants(nodes)]
    [(0.14, 'MIG profile 1g.5gb'), (0.43, 'MIG profile 3g.20gb'), (1.0, 'a whole GPU')]
    """
    if "features" not in nodes:
        return [WHOLE]
    told = " ".join(nodes["features"].dropna().astype(str)).lower()
    found = {
        GpuGrant(
            int(slices) / _SLICES,
            f"MIG profile {slices}g.{memory}gb (Kubernetes nvidia.com/mig-{slices}g.{memory}gb, "
            f"Slurm --gres=gpu:{slices}g.{memory}gb:1)",
        )
        for slices, memory in _MIG.findall(told)
    }
    for kind, parts in _SHARED.findall(told):
        found |= set(_shares(kind, int(parts) if parts else 0))
    return [*sorted(found, key=lambda one: one.share), WHOLE]


def _shares(kind: str, parts: int) -> list[GpuGrant]:
    """Return the shares of a GPU that is shared in so many parts; 0: as many as one likes."""
    if kind == "mps":
        steps = np.arange(1, parts) / parts if parts else np.arange(_PERCENT, 1.0, _PERCENT)
        return [
            GpuGrant(
                float(round(share, 4)),
                f"{share:.0%} of a GPU by MPS (Slurm --gres=mps:{100 * share:.0f}; Kubernetes with "
                "the device plug-in's MPS)",
            )
            for share in steps
        ]
    if parts < 2:
        return []
    words = f"a time slice, 1 of {parts} jobs on a GPU (Kubernetes nvidia.com/gpu.shared)"
    return [GpuGrant(1.0 / parts, words)]


def granted(found: ResourceRecommendations, nodes: pd.DataFrame) -> ResourceRecommendations:
    """Round recommended GPUs up to what the nodes can give, and say which system can."""
    grants = gpu_grants(nodes)
    tasks = [one if one.keep else _granted(one, grants) for one in found.tasks]
    return replace(found, tasks=tasks)


def _granted(one: Recommendation, grants: Sequence[GpuGrant]) -> Recommendation:
    first = one.ladder[0]
    if first > 1.0:
        return one
    grant = next(held for held in grants if held.share >= first - 1e-9)
    if one.now > 0 and grant.share >= one.now:
        shares = counted(len(grants) - 1, "smaller part")
        smaller = "whole GPUs only" if len(grants) == 1 else f"whole GPUs and {shares}"
        why = f"keep: {first:.2g} of a GPU would do, but the nodes give {smaller}"
        return replace(one, keep=True, why=why, saved_per_month=0.0)
    rise = grant.share / first
    ladder = (grant.share, *(max(rung, grant.share) for rung in one.ladder[1:]))
    left = 1.0 - (1.0 - one.saving) * rise
    per_month = one.saved_per_month * left / one.saving if one.saving > 0 else one.saved_per_month
    return replace(
        one, ladder=ladder, saving=left, saved_per_month=per_month,
        why=f"{one.why}; given as {grant.words}",
    )  # fmt: skip
