"""MIG: the parts that a GPU can be divided into, how they are named, and where each may begin.

A GPU has eight slices of memory (an A30 four) and an instance covers adjacent ones, beginning at
one of a few places. Source: NVIDIA, "Multi-Instance GPU User Guide", supported profiles, and
``nvidia-smi mig -lgipp``, which prints ``{0,2,4}:2`` for starts 0, 2 or 4 and a length of two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"\b([1-7])g\.([0-9]+)gb\b")


@dataclass(frozen=True)
class MigProfile:
    """A kind of instance: its slices of compute, its length in slices of memory, its starts."""

    name: str
    compute: int
    length: int
    starts: tuple[int, ...]

    def mask(self, start: int) -> int:
        """Return the slices of an instance that begins there, as a bit set."""
        return ((1 << self.length) - 1) << start


@dataclass(frozen=True)
class MigModel:
    """A model of GPU that can be divided."""

    name: str
    slices: int
    compute: int
    profiles: dict[str, MigProfile]

    def placements(self, used: int, profile: MigProfile) -> Iterator[int]:
        """Yield the starts at which an instance of a profile would overlap nothing that is used."""
        return (start for start in profile.starts if not profile.mask(start) & used)

    def arranged(self, names: Sequence[str]) -> tuple[int, ...] | None:
        """Return a start for each instance so that none overlap; None if there is no such way.

        Examples
        --------
        >>> MODELS["A100"].arranged(["3g.20gb", "4g.20gb"])
        (4, 0)
        >>> MODELS["A100"].arranged(["4g.20gb", "4g.20gb"]) is None
        True
        """
        return self._arranged([self.profiles[name] for name in names], 0)

    def _arranged(self, profiles: Sequence[MigProfile], used: int) -> tuple[int, ...] | None:
        if not profiles:
            return ()
        for start in self.placements(used, profiles[0]):
            rest = self._arranged(profiles[1:], used | profiles[0].mask(start))
            if rest is not None:
                return (start, *rest)
        return None


def _model(name: str, *memory: str) -> MigModel:
    """Return a model with eight slices of memory and seven of compute."""
    starts = (tuple(range(7)), (0, 2, 4, 6), (0, 2, 4), (0, 4), (0,), (0,))
    shapes = ((1, 1), (1, 2), (2, 2), (3, 4), (4, 4), (7, 8))
    profiles = [
        MigProfile(f"{compute}g.{gib}gb", compute, length, at)
        for gib, (compute, length), at in zip(memory, shapes, starts, strict=True)
    ]
    return MigModel(name, 8, 7, {profile.name: profile for profile in profiles})


_A30 = (
    MigProfile("1g.6gb", 1, 1, (0, 1, 2, 3)),
    MigProfile("2g.12gb", 2, 2, (0, 2)),
    MigProfile("4g.24gb", 4, 4, (0,)),
)
MODELS = {
    model.name: model
    for model in (
        _model("A100", "5", "10", "10", "20", "20", "40"),
        _model("A100-80GB", "10", "20", "20", "40", "40", "80"),
        _model("H100", "10", "20", "20", "40", "40", "80"),
        _model("H200", "18", "35", "35", "71", "71", "141"),
        MigModel("A30", 4, 4, {profile.name: profile for profile in _A30}),
    )
}


def mig_model(gpu_type: str) -> MigModel | None:
    """Return the model that a GPU type names, if it can be divided.

    An A100 is one of 40 GB unless its name says 80.

    Examples
    --------
    >>> [mig_model(name).name for name in ("A100", "NVIDIA-A100-SXM4-80GB", "h100", "A30")]
    ['A100', 'A100-80GB', 'H100', 'A30']
    >>> mig_model("V100") is None
    True
    """
    words = gpu_type.upper()
    if re.search(r"A100.*80", words):
        return MODELS["A100-80GB"]
    return next((MODELS[name] for name in ("A100", "H100", "H200", "A30") if name in words), None)


def mig_profiles_in(text: str) -> list[tuple[str, float]]:
    """Return the profiles that a text names, each with its part of a GPU's compute.

    Examples
    --------
    >>> [(name, round(share, 2)) for name, share in mig_profiles_in("a100|1g.5gb, 1g.6gb")]
    [('1g.5gb', 0.14), ('1g.6gb', 0.25)]
    """
    return [
        (f"{slices}g.{memory}gb", int(slices) / _compute(f"{slices}g.{memory}gb"))
        for slices, memory in _NAME.findall(text.lower())
    ]


def mig_memory(name: str) -> float:
    """Return the part of a GPU's memory that an instance of a profile has; 1 if it is unknown.

    Examples
    --------
    >>> mig_memory("1g.5gb"), mig_memory("3g.20gb"), mig_memory("2g.12gb")
    (0.125, 0.5, 0.5)
    """
    models = [model for model in MODELS.values() if name in model.profiles]
    return models[0].profiles[name].length / models[0].slices if models else 1.0


def _compute(name: str) -> int:
    """Return how many slices of compute the GPU of a profile has; seven where it is unknown."""
    return next((model.compute for model in MODELS.values() if name in model.profiles), 7)
