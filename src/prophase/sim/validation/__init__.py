"""Does the simulation do what the real cluster did? Replays of traces with known waits."""

from prophase.sim.validation.blind import without_outcomes
from prophase.sim.validation.scores import WaitScores, score_waits
from prophase.sim.validation.validating import Validation, validate
from prophase.sim.validation.verdict import ClassVerdict, Thresholds

__all__ = [
    "ClassVerdict",
    "Thresholds",
    "Validation",
    "WaitScores",
    "score_waits",
    "validate",
    "without_outcomes",
]
