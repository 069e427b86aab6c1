"""Steps of a watcher: what it noticed and did, as they go into the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from prophase.profile.drift.mending import Mend
from prophase.profile.drift.monitor import Alarm

#: jobs after an alarm at which its cause is looked at again, with more jobs to tell
LOOKS_AGAIN = (100, 300)


@dataclass
class Change:
    """A change that was noticed, until it has been looked at for the last time."""

    #: number of the step that noticed it
    step: int
    #: row of all jobs at which it began, and those at which it is looked at again
    since: int
    due: list[int]
    alarms: list[Alarm]
    profiles_done: bool = False
    mend: Mend | None = None


@dataclass(frozen=True)
class Step:
    """One entry of the log."""

    step: int
    #: alarm, or second look at a change that was noticed
    kind: str
    #: jobs watched by then, and the end of the last of them on the clock of the trace
    jobs: int
    time_s: float | None
    reason: str
    #: step that noticed the change this one is about
    change: int
    #: jobs watched before the change began
    since_jobs: int
    alarms: list[dict[str, Any]]
    culprit: str
    repair: dict[str, Any]
    retired: list[int]
    new: list[int]
    profiles: str
    #: median absolute log error and share outside the range, before and since the change
    before: dict[str, float]
    since: dict[str, float]
    #: of the history and all jobs watched so far
    data_hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return asdict(self)
