"""Phases as a policy sees them: a label per sample, from that sample and those before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import windowed
from prophase.errors import MissingColumnError


class RunLabeller(Protocol):
    """A fitted phase detector of any kind, as a policy needs it."""

    @property
    def name(self) -> str:
        """How users call it, such as crbm or hmm."""
        ...

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it looks at."""
        ...

    @property
    def n_phases(self) -> int:
        """Number of phases."""
        ...

    def label(self, values: Floats) -> Ints:
        """Return the phase of each sample of one run from it and those before it; -1: unknown.

        ``values`` has a column per metric, in its unit, NaN where nothing is known.
        """
        ...

    def packed(self) -> bytes:
        """Return the detector as the content of a file."""
        ...


def labelled(fleet: Fleet, labeller: RunLabeller | None) -> Fleet:
    """Return a fleet with the phases that a detector finds; samples without one share the last.

    A metric that the fleet lacks counts as unknown, as long as it has one of them.
    """
    if labeller is None:
        return fleet
    columns = {**fleet.others, fleet.metric: fleet.use}
    known = [name for name in labeller.metrics if name in columns]
    if not known:
        raise MissingColumnError(
            f"the phases were learned with {', '.join(labeller.metrics)}, and the series have none "
            "of them. Give series of the same source, or learn phases again."
        )
    unknown = np.full(fleet.samples, np.nan)
    values = np.column_stack([columns.get(name, unknown) for name in labeller.metrics])
    parts = [labeller.label(values[run]) for run in fleet.runs()]
    found = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    last = labeller.n_phases
    return replace(fleet, phase=np.where(found < 0, last, found), phases=last + 1)


def phases_of(fleet: Fleet) -> tuple[Ints, int]:
    """Return the phase of each sample, and how many there are.

    Without a detector they are told apart by hand: how restless use is, where in the range of
    the last samples it lies, and whether it rises.

    Examples
    --------
    >>> labels, phases = phases_of(Fleet.of_runs([[4.0] * 9]))
    >>> sorted(set(labels.tolist())), phases
    ([4], 18)
    """
    if fleet.phase is not None:
        return fleet.phase, fleet.phases
    high = windowed(fleet, _WINDOW)
    low = windowed(fleet, _WINDOW, np.minimum)
    before = windowed(fleet, 3, np.minimum)
    scale = np.maximum(high, 1e-12)
    spread = (high - low) / scale
    restless = np.digitize(spread, (0.02, 0.2))
    place = np.where(spread > 0.002, (fleet.use - low) / np.maximum(high - low, 1e-12), 1.0)
    level = np.digitize(place, (0.25, 0.75))
    rising = (fleet.use - before) / scale > 0.01
    # calm series get labels 0 to 5, moving ones 6 to 11, restless ones 12 to 17
    found: Ints = ((restless * 3 + level) * 2 + rising).astype(np.int64)
    return found, 18


#: samples looked back on where phases are told apart by hand
_WINDOW = 80


def elapsed_in_phase(fleet: Fleet, phase: Ints) -> Ints:
    """Return how many samples of the same phase came right before each sample of its run.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0] * 5, [1.0] * 2])
    >>> elapsed_in_phase(fleet, np.array([0, 0, 1, 1, 1, 1, 1])).tolist()
    [0, 1, 0, 1, 2, 0, 1]
    """
    enters = np.ones(fleet.samples, np.bool_)
    enters[1:] = phase[1:] != phase[:-1]
    enters[fleet.run_start] = True
    place = np.arange(fleet.samples)
    return place - np.maximum.accumulate(np.where(enters, place, 0))
