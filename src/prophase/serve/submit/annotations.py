"""Annotations and labels for the object, its queue and its owner.

Annotations hold everything. Labels hold what a queue sorts or counts by, in values that labels
allow: Kueue copies labels to its Workloads (``integrations.labelKeysToCopy``), Volcano copies
annotations and labels to its PodGroups.
"""

from __future__ import annotations

import math
import re

from prophase import units
from prophase.json_types import JsonObject
from prophase.serve.submit.policy import Mode
from prophase.sizing.job_request import RequestRecommendation
from prophase.study.submission.job_recommender import JobRecommendation

PREFIX = "prophase.dev/"
MODE, REASON, PODS = PREFIX + "decided", PREFIX + "reason", PREFIX + "pods"
ATTEMPT, CONTAINER = PREFIX + "attempt", PREFIX + "container"
_MOST_REASON = 1000
#: classes of run time for queues: upper end in seconds, in words
_CLASSES = ((600, "under-10m"), (3600, "under-1h"), (14_400, "under-4h"), (86_400, "under-1d"))


def annotations_of(counsel: JobRecommendation, mode: Mode) -> dict[str, str]:
    """Return all annotations of one job."""
    found = {MODE: mode, REASON: reason(counsel)}
    duration = counsel.duration
    if duration is not None:
        found[PREFIX + "predicted-duration-seconds"] = f"{duration.value:.0f}"
        if math.isfinite(duration.high):
            found[PREFIX + "predicted-duration-range-seconds"] = (
                f"{duration.low:.0f}-{duration.high:.0f}"
            )
        found[PREFIX + "confidence"] = duration.confidence
    if counsel.profile is not None and counsel.advice is not None and counsel.advice.profile:
        found[PREFIX + "profile"] = counsel.profile
        found[PREFIX + "profile-probability"] = f"{counsel.advice.profile.probability:.2f}"
    for one in counsel.requests:
        if one.change and one.resource in ("memory", "cpu"):
            rungs = [quantity(one.resource, rung) for rung in one.ladder]
            found[PREFIX + f"advised-{one.resource}"] = rungs[0]
            found[ladder_note(one.resource)] = ",".join(rungs)
            if one.asked is not None:
                found[PREFIX + f"asked-{one.resource}"] = quantity(one.resource, one.asked)
    return found


def labels_of(counsel: JobRecommendation) -> dict[str, str]:
    """Return what queues may sort by, as labels."""
    found = {}
    if counsel.duration is not None:
        found[PREFIX + "duration-class"] = duration_class(counsel.duration.value)
    if counsel.profile is not None:
        value = label_value(counsel.profile)
        if value:
            found[PREFIX + "profile"] = value
    return found


def reason(counsel: JobRecommendation) -> str:
    """Return why, in at most a thousand characters."""
    text = "; ".join(word.rstrip(".") for word in counsel.words()) or "nothing is known"
    return text if len(text) <= _MOST_REASON else text[: _MOST_REASON - 3] + "..."


def ladder_note(resource: str) -> str:
    """Return the annotation that holds the requests of all attempts."""
    return f"{PREFIX}{resource}-ladder"


def quantity(resource: str, amount: float) -> str:
    """Return an amount as Kubernetes writes it, rounded up.

    Examples
    --------
    >>> quantity("memory", 2.4), quantity("cpu", 1.234), quantity("cpu", 2.0)
    ('2458Mi', '1240m', '2')
    """
    if resource == "memory":
        return f"{units.whole_mib(amount)}Mi"
    thousandths = max(10, 10 * math.ceil(100 * amount - 1e-6))
    return f"{thousandths // 1000}" if thousandths % 1000 == 0 else f"{thousandths}m"


def duration_class(seconds: float) -> str:
    """Return the class of a run time.

    Examples
    --------
    >>> duration_class(5400.0), duration_class(1e6)
    ('under-4h', 'over-1d')
    """
    return next((word for most, word in _CLASSES if seconds <= most), "over-1d")


def label_value(text: str) -> str:
    """Return text as a label may hold it.

    Examples
    --------
    >>> label_value("GPU heavy (3)")
    'GPU-heavy-3'
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:63].strip("-_.")


def changed(counsel: JobRecommendation, resources: tuple[str, ...]) -> list[RequestRecommendation]:
    """Return the requests that are to be set."""
    return [one for one in counsel.requests if one.change and one.resource in resources]


def audit(outcome: str, words: str) -> JsonObject:
    """Return what the API server's audit log keeps of a decision."""
    return {"outcome": outcome, "reason": words[:_MOST_REASON]}
