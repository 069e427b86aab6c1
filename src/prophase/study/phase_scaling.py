"""Scaling policies that use the phases which a phase detector found.

Phases and allocations are found by packages that do not know each other; here a fitted detector
becomes what labels the runs of a fleet, and travels with the saved policy.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.saved_policy import SavedPolicy
from prophase.errors import InputError, ParameterError, not_among
from prophase.phase import PhaseDetector
from prophase.phase.labellers import LABELLERS

#: samples of training series that phases are learnt from; more add time and no phases
_LEARNT = 20_000
_MOST_PHASES = 50


@dataclass(frozen=True)
class DetectedPhases:
    """A fitted detector that labels runs.

    Examples
    --------
    >>> cores = np.repeat([1.0, 4.0] * 5, 30) + np.random.default_rng(0).normal(0, 0.1, 300)
    >>> fleet = Fleet.of_runs([cores], metric="cpu_cores")
    >>> found = learnt_phases(fleet, "hmm")
    >>> found.n_phases, found.label(cores[:, None]).tolist()[28:33]
    (2, [0, 0, 1, 1, 1])
    """

    detector: PhaseDetector

    @property
    def name(self) -> str:
        return self.detector.labeller

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.detector.metrics_

    @property
    def n_phases(self) -> int:
        return self.detector.n_phases_

    def label(self, values: Floats) -> Ints:
        """Return the phase of each sample of one run; the last known value stands for a hole."""
        if not len(values):
            return np.zeros(0, np.int64)
        found = self.detector
        held = pd.DataFrame(values).ffill().to_numpy()
        # before anything is known of a metric it counts as usual
        scaled = np.nan_to_num((held - found.mean_) / found.scale_)
        return found.renumbered(found.labeller_.label(scaled), scaled)

    def packed(self) -> bytes:
        """Return the content of the detector's file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "phases"
            self.detector.save(path)
            return path.read_bytes()

    @classmethod
    def unpacked(cls, content: bytes) -> DetectedPhases:
        """Return what `packed` gave."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "phases"
            path.write_bytes(content)
            return cls(PhaseDetector.load(path))


def load_policy(path: Path | str) -> SavedPolicy:
    """Return a saved scaling policy, with the detector of its phases if it has one."""
    return SavedPolicy.load(path, DetectedPhases.unpacked)


def phases_for(fleet: Fleet, asked: str, *, random_state: int = 0) -> DetectedPhases | None:
    """Return the phases that a policy shall use.

    Parameters
    ----------
    fleet : Fleet
        Training series.
    asked : str
        A labeller that is fitted to the training series, such as ``hmm``, or ``crbm:5`` for five
        phases; a file of ``prophase phase fit``; or ``none``: phases are told apart by hand.
    """
    if asked == "none":
        return None
    name, _, count = asked.partition(":")
    if name in LABELLERS:
        if count and not (count.isdecimal() and 1 <= int(count) <= _MOST_PHASES):
            raise ParameterError(
                f"phases are {asked!r}. Write a number from 1 to {_MOST_PHASES}, e.g. {name}:5."
            )
        number = int(count) if count else None
        return learnt_phases(fleet, name, n_phases=number, random_state=random_state)
    path = Path(asked)
    if not path.is_file():
        words = [*LABELLERS, "none"]
        raise ParameterError(
            f"{not_among(f'phases {asked!r} are unknown.', asked, words)} "
            "A file of prophase phase fit will also do."
        )
    found = PhaseDetector.load(path)
    step_s = found.step_s_
    if step_s is not None and not np.isclose(step_s, fleet.step_s, rtol=0.2):
        raise ParameterError(
            f"{path}: these phases have samples of {step_s:g} s, the series of {fleet.step_s:g} s. "
            "Learn phases with the same step."
        )
    return DetectedPhases(found)


def learnt_phases(
    fleet: Fleet, labeller: str, *, n_phases: int | None = None, random_state: int = 0
) -> DetectedPhases | None:
    """Return phases learnt from a fleet; None if nothing in it ever changes."""
    order = np.random.default_rng(random_state).permutation(len(fleet.lengths))
    runs, total, parts = list(fleet.runs()), 0, []
    for place in order.tolist():
        if total >= _LEARNT:
            break
        run = runs[place]
        total += run.stop - run.start
        columns = {name: values[run] for name, values in fleet.others.items()}
        time_s = np.arange(run.stop - run.start) * fleet.step_s
        parts.append(
            pd.DataFrame(
                {"series_id": str(place), "time_s": time_s, fleet.metric: fleet.use[run], **columns}
            )
        )
    usage = pd.concat(parts, ignore_index=True)
    # a metric that most samples lack would take most series with it
    kept = [name for name in usage.columns if usage[name].notna().mean() > 0.95]
    try:
        detector = PhaseDetector(
            labeller, n_phases=n_phases, step_s=None, random_state=random_state
        )
        return DetectedPhases(detector.fit(usage[kept]))
    except InputError:
        return None
