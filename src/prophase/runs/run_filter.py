"""Which runs of a campaign are meant: by scenario, date, task and state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from prophase.errors import ParameterError, not_among
from prophase.runs.states import RunState


@dataclass(frozen=True)
class RunFilter:
    """What runs have to be; without anything, all of them.

    Parameters
    ----------
    scenario : str, optional
        Name of the scenario; ``*`` stands for any text.
    since, until : date, optional
        First and last execution date.
    task : str, optional
        A task that has been measured.
    states : tuple of RunState
        Any of these.
    """

    scenario: str | None = None
    since: date | None = None
    until: date | None = None
    task: str | None = None
    states: tuple[RunState, ...] = ()

    @classmethod
    def of_text(
        cls,
        *,
        scenario: str | None = None,
        since: str | None = None,
        until: str | None = None,
        task: str | None = None,
        state: str | None = None,
    ) -> RunFilter:
        """Return the filter that somebody has typed.

        Examples
        --------
        >>> RunFilter.of_text(since="2024-01-31", state="35").states
        (<RunState.EXECUTE_FAILED: 35>,)
        """
        return cls(
            scenario or None,
            _day(since, "since"),
            _day(until, "until"),
            task or None,
            _states(state) if state else (),
        )

    @property
    def is_empty(self) -> bool:
        """Say whether it lets every run pass."""
        return self == EVERY_RUN


EVERY_RUN = RunFilter()


def _day(text: str | None, name: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as cause:
        raise ParameterError(
            f"{name} is {text!r}, but must be a date such as 2024-01-31."
        ) from cause


def _states(text: str) -> tuple[RunState, ...]:
    """Return the states of a text such as ``35``, ``execute failed`` or ``failed,finished``."""
    found: list[RunState] = []
    for word in (part.strip().lower().replace("_", " ") for part in text.split(",")):
        if word == "failed":
            found += [state for state in RunState if state.failed]
            continue
        same = [state for state in RunState if word in (str(int(state)), state.label)]
        if not same:
            known = ["failed", *(state.label for state in RunState)]
            raise ParameterError(not_among(f"no run is in a state {word!r}.", word, known))
        found += same
    return tuple(found)
