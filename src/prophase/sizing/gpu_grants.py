"""Which part of a GPU the nodes can give: whole ones, shares, or MIG profiles.

What a node shares stands among its features: a MIG profile as its maker writes it (``1g.5gb``),
``mps`` (any percentage), or ``time-slice-4``, ``mps-4`` and ``shard-4`` (so many jobs to a GPU).
Slurm calls a profile as its site does (``gres=a100_1g.5gb``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.json_types import JsonMapping
from prophase.plural import counted
from prophase.units.mig import mig_memory, mig_profiles_in

_SHARED = re.compile(r"\b(time-?slice|mps|shard)(?:[-_=:]?([0-9]+))?\b")
#: what a site of Slurm calls a MIG profile
_GRES = re.compile(r"\bgres=([\w.-]*?([1-7]g\.[0-9]+gb)[\w.-]*)")
#: parts of a GPU that MPS gives where nobody says how many
_PERCENT = 0.05
#: most jobs of one kind that are put on a GPU where nobody says how many
_MOST_JOBS = 20


@dataclass(frozen=True)
class GpuGrant:
    """A part of a GPU that a job can be given, and who can give it."""

    share: float
    words: str
    #: part of the GPU's memory that comes with it
    memory: float = 1.0
    #: what to ask for: Slurm's ``--gres``, Kubernetes' resource; empty where there is no such thing
    slurm: str = ""
    kubernetes: str = ""


WHOLE = GpuGrant(1.0, "a whole GPU (any system)")
#: what systems that share GPUs give alike: so many jobs of a kind to a GPU
EQUAL_PARTS = (
    *(GpuGrant(1.0 / n, f"1 of {n} jobs on a GPU") for n in range(_MOST_JOBS, 1, -1)),
    WHOLE,
)


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
    called = {profile: name for name, profile in _GRES.findall(told)}
    found = {
        GpuGrant(
            share,
            f"MIG profile {name} (Kubernetes nvidia.com/mig-{name}, Slurm --gres="
            f"gpu:{called.get(name, name)}:1)",
            mig_memory(name),
            f"gpu:{called.get(name, name)}:1",
            f"nvidia.com/mig-{name}",
        )
        for name, share in mig_profiles_in(told.replace("_", " "))
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
                slurm=f"mps:{100 * share:.0f}",
            )
            for share in steps
        ]
    if parts < 2:
        return []
    if kind == "shard":
        return [
            GpuGrant(
                n / parts, f"{counted(n, 'shard')} of {parts} of a GPU (Slurm --gres=shard:{n})",
                slurm=f"shard:{n}",
            )
            for n in range(1, parts)
        ]  # fmt: skip
    words = f"a time slice, 1 of {parts} jobs on a GPU (Kubernetes nvidia.com/gpu.shared)"
    return [GpuGrant(1.0 / parts, words, kubernetes="nvidia.com/gpu.shared")]


def parts_given(jobs: pd.DataFrame, nodes: pd.DataFrame | None) -> tuple[GpuGrant, ...]:
    """Return the parts of a GPU that can be given; none listed: any share.

    Any share can be given where jobs have asked for shares and nodes name no parts. Where nobody
    describes the nodes and all ask for whole GPUs, several jobs of a kind may stand on one: 0.83 of
    a GPU is then a whole one, as no second job fits beside it.

    Examples
    --------
    >>> shares = pd.DataFrame({"request_gpus": [0.5, 1.0]})
    >>> nodes = pd.DataFrame({"gpus": [8]})
    >>> parts_given(shares, nodes), len(parts_given(shares.round(), nodes))
    ((), 1)
    >>> smallest_part(0.3, parts_given(shares.round(), None)).words
    '1 of 3 jobs on a GPU'
    """
    found = EQUAL_PARTS if nodes is None else tuple(gpu_grants(nodes))
    if found in (EQUAL_PARTS, (WHOLE,)) and "request_gpus" in jobs:
        asked = pd.to_numeric(jobs["request_gpus"], errors="coerce")
        if ((asked > 0) & (asked < 1)).any():
            return ()
    return found


def smallest_part(share: float, parts: Sequence[GpuGrant]) -> GpuGrant:
    """Return the smallest part that is not below a share of one GPU, nor of its memory."""
    return next(one for one in parts if min(one.share, one.memory) >= share - 1e-9)


def part_of(share: float, parts: Sequence[GpuGrant]) -> GpuGrant | None:
    """Return the part that was recommended as this share; None if it is none of them."""
    return next((one for one in parts if abs(one.share - share) < 1e-6), None)


#: below this a GPU is shared between jobs
_WHOLE_GPU = 1.0


def how_to_share(resource: str, rows: Sequence[JsonMapping]) -> list[str]:
    """Say which systems can grant a part of a GPU, where that is recommended.

    Examples
    --------
    >>> how_to_share("gpu", [{"now": 1.0, "advice": 1.0}])
    []
    """
    parts = [one["advice"] for one in rows if one.get("advice") and one["advice"] < _WHOLE_GPU]
    if resource != "gpu" or not parts:
        return []
    return [
        f"{counted(len(parts), 'recommendation')} below one GPU ({min(parts):.2g} the smallest) "
        "need a cluster that shares GPUs: any share by time slicing or NVIDIA MPS (KAI, HAMi, "
        "Run:ai, Slurm's shards), sevenths by MIG (A100, H100 and later). Where nodes grant whole "
        "GPUs only, put several such jobs on one GPU, or ask for one."
    ]
