"""What a phase detector has learned: what its stream labels with and its file holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.phase.labellers.labeller import Labeller
from prophase.phase.model_selection import LabellerTrial
from prophase.phase.next_phase import NextPhase
from prophase.phase.novelty import Familiar
from prophase.phase.prototypes import Prototypes
from prophase.trace.series.kmeans_centres import nearest
from prophase.trace.series.usage_series import Floats, Ints


@dataclass(frozen=True)
class PhaseSplit:
    """A phase whose unfamiliar samples became phases of their own.

    A sample keeps its phase if it is like those that were seen before the split; otherwise it
    takes the number of the nearest new centre.
    """

    phase: int
    #: number of the first new phase
    first: int
    #: (new phases, metrics), scaled
    centres: Floats
    #: what was seen before
    familiar: Familiar

    def apply(self, phases: Ints, scaled: Floats) -> Ints:
        """Return the phases with those of new samples of the split one renumbered."""
        inside = np.flatnonzero(phases == self.phase)
        if len(inside) == 0:
            return phases
        strange = inside[self.familiar.is_new(scaled[inside])]
        found = phases.copy()
        found[strange] = self.first + nearest(scaled[strange], self.centres)
        return found


class FittedPhases:
    """Settings of a detector and what it has learned from series."""

    labeller: str
    n_phases: int | None
    window: int | None
    hidden: int
    metrics: Sequence[str] | None
    step_s: float | None
    gap_s: float | None
    random_state: int
    labeller_: Labeller
    trials_: tuple[LabellerTrial, ...]
    metrics_: tuple[str, ...]
    mean_: Floats
    scale_: Floats
    gap_s_: float
    splits_: tuple[PhaseSplit, ...]
    n_phases_: int
    familiar_: Familiar
    next_: NextPhase
    statistics_: pd.DataFrame
    lengths_: pd.DataFrame
    transitions_: Floats
    #: of the series that were learned from, while they are in memory
    labels_: list[Ints]
    prototypes_: Prototypes
    #: how few executions stand for most, in words
    prototypes_said_: str
    notes_: tuple[str, ...]
    data_hash_: str

    def renumbered(self, phases: Ints, scaled: Floats) -> Ints:
        """Return phases after the splits that were made later."""
        for split in self.splits_:
            phases = split.apply(phases, scaled)
        return phases
