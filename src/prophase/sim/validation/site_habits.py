"""What a log shows of rules that nobody wrote down: hours, outages, limits per user.

Read from recorded starts and time limits alone. At hours that no job's time limit reaches across,
week after week, the site has other rules before and after; where nothing runs although jobs wait,
it was closed; where users with waiting jobs never run more than a number, that is their limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import ParameterError
from prophase.sim.signatures import Floats, Ints
from prophase.stats.blocks import DAY_S

_HOUR_S = 3600.0
_WEEK_H = 168
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: believed use at an hour of the week, over its mean, at which the hour is a border; and the weeks
#: that it takes
_BORDER, _LEAST_WEEKS = 0.1, 4
#: time limits of so many starts stay below the longest of their hours
_USUAL = 0.99
_ROUND_S = 900.0
#: a closed site: use at most, for at least so long
_CLOSED, _CLOSED_S = 0.05, 2 * _HOUR_S
#: how far a maintenance may be from its day and hour; how many are needed, and the share that came
_NEAR_S, _LEAST_CLOSED, _CAME = 4 * _HOUR_S, 3, 0.6
_LEAST_JOBS, _LEAST_USERS = 30, 3
#: hours are laid out so long after the last submission, for what is still waiting then
_AFTER_S = 60 * DAY_S


@dataclass(frozen=True)
class Maintenance:
    """The site is closed every so often."""

    first_s: float
    every_s: float
    length_s: float


@dataclass(frozen=True)
class SiteHabits:
    """Rules that a log shows.

    Attributes
    ----------
    week : tuple of (int, float)
        Hours of the week, from Monday 0:00, at which other hours begin, and the longest job that
        starts in them; all must end before the next ones begin.
    closed : tuple of (float, float)
        When nothing ran although jobs waited.
    maintenance : Maintenance or None
        The closed times that come again.
    user_jobs : int or None
        Jobs that a user may run at a time.
    """

    time_zone: str = "UTC"
    week: tuple[tuple[int, float], ...] = ()
    closed: tuple[tuple[float, float], ...] = ()
    maintenance: Maintenance | None = None
    user_jobs: int | None = None

    def parts(self) -> dict[str, SiteHabits]:
        """Return each rule on its own, by name; those that were not found are missing."""
        bare = SiteHabits(self.time_zone)
        found = {
            "hours": replace(bare, week=self.week),
            "outages": replace(bare, closed=self.closed, maintenance=self.maintenance),
            "limit per user": replace(bare, user_jobs=self.user_jobs),
        }
        return {name: one for name, one in found.items() if one != bare}

    def joined(self, other: SiteHabits) -> SiteHabits:
        """Return the rules of both."""
        return SiteHabits(
            self.time_zone,
            self.week or other.week,
            self.closed or other.closed,
            self.maintenance or other.maintenance,
            self.user_jobs if other.user_jobs is None else other.user_jobs,
        )

    def words(self) -> list[str]:
        """Say the rules, one line each."""
        said = []
        kinds: dict[tuple[int, int, float], list[int]] = {}
        for (hour, longest_s), (until, _) in pairwise([*self.week, *self.week[:1]]):
            kind = (hour % 24, (until - hour) % _WEEK_H or _WEEK_H, longest_s)
            kinds.setdefault(kind, []).append(hour)
        for (hour, length, longest_s), begins in kinds.items():
            days = ", ".join(_DAYS[one // 24] for one in begins)
            until = begins[0] + length
            day = "" if length < 24 else f"{_DAYS[until // 24 % 7]} "
            most = f", at most {units.duration(longest_s)} long" if longest_s < np.inf else ""
            said.append(f"{days} {hour}:00 to {day}{until % 24}:00: jobs end in it{most}")
        if self.closed:
            hours = sum(end - begin for begin, end in self.closed)
            said.append(f"closed {len(self.closed)} times, {units.duration(hours)} together")
        if self.maintenance is not None:
            one = self.maintenance
            said.append(
                f"maintenance of {units.duration(one.length_s)} every "
                f"{units.duration(one.every_s)}, announced"
            )
        if self.user_jobs is not None:
            said.append(f"at most {self.user_jobs} jobs of a user run at a time")
        return said

    def settings(self, begin_s: float, end_s: float) -> dict[str, Any]:
        """Return the rules as settings of ``simulate``, for a log of this time span."""
        end_s += _AFTER_S
        closed = sorted({*self.closed, *self._maintained(end_s)})
        found: dict[str, Any] = {}
        spans = [(row[0], row[1], row[2]) for row in self._hours(begin_s, end_s)]
        if self.maintenance is not None or (spans and closed):
            spans = _before_closing(spans or [(begin_s, end_s, np.inf)], closed)
        if spans:
            found["hours"] = pd.DataFrame(spans, columns=["from_s", "to_s", "longest_s"])
        if closed:
            found["calendar"] = pd.DataFrame(closed, columns=["from_s", "to_s"]).assign(share=1.0)
        if self.user_jobs is not None:
            found["quotas"] = pd.DataFrame({"user": ["*"], "jobs": [self.user_jobs]})
        return found

    def _maintained(self, end_s: float) -> list[tuple[float, float]]:
        """Return the maintenance to come; what was closed is known already."""
        if self.maintenance is None:
            return []
        one, last = self.maintenance, max((end for _, end in self.closed), default=-np.inf)
        begins = np.arange(one.first_s, end_s, one.every_s)
        return [(float(at), float(at + one.length_s)) for at in begins if at > last + _NEAR_S]

    def _hours(self, begin_s: float, end_s: float) -> list[tuple[float, float, float]]:
        """Return the week's hours, laid out over the calendar."""
        if not self.week:
            return []
        zone = ZoneInfo(self.time_zone)
        monday = pd.Timestamp(begin_s, unit="s", tz="UTC").tz_convert(zone).normalize()
        monday -= pd.Timedelta(days=monday.day_of_week + 7)
        cuts: list[tuple[float, float]] = []
        for week in range(int((end_s - begin_s) / (7 * DAY_S)) + 3):
            for hour, longest_s in self.week:
                day = (monday + pd.DateOffset(days=7 * week + hour // 24)).replace(hour=hour % 24)
                cuts.append((day.timestamp(), longest_s))
        return [(at, until, longest) for (at, longest), (until, _) in pairwise(cuts)]


@dataclass(frozen=True)
class _Log:
    """A log's starts: when, how long at most, on how much."""

    start_s: Floats
    end_s: Floats
    believed_s: Floats
    size: Floats
    submit_s: Floats
    user: Ints | None
    whole: float
    zone: ZoneInfo


def read_habits(
    jobs: pd.DataFrame, size: Floats, whole: float, *, time_zone: str = "UTC"
) -> SiteHabits:
    """Learn a site's rules from a log.

    Parameters
    ----------
    jobs : DataFrame
        Job table with submission, recorded start, run time and time limit.
    size : array
        What each job holds of the cluster, such as cores or nodes.
    whole : float
        What the cluster has of it.
    time_zone : str, default="UTC"
        Whose days and nights the rules follow, such as Europe/Stockholm.

    Examples
    --------
    >>> days = np.repeat(np.arange(70), 2) * 86_400.0
    >>> jobs = pd.DataFrame({"submit_s": days, "start_s": days + np.tile([8, 17], 70) * 3600.0})
    >>> jobs["duration_s"] = jobs["time_limit_s"] = np.tile([9, 15], 70) * 3600.0
    >>> [hour % 24 for hour, _ in read_habits(jobs, np.ones(140), 1.0).week][:4]
    [8, 17, 8, 17]
    """
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError) as cause:
        raise ParameterError(
            f"--time-zone {time_zone}: there is no such time zone. Write one such as Europe/Paris."
        ) from cause
    known = (jobs["start_s"].notna() & jobs["submit_s"].notna()).to_numpy()
    here = jobs[known]
    start = here["start_s"].to_numpy(np.float64)
    run = here["duration_s"].fillna(0.0).to_numpy(np.float64)
    limit = run if "time_limit_s" not in here else here["time_limit_s"].fillna(0.0).to_numpy(float)
    users = here["user"] if "user" in here and here["user"].notna().any() else None
    log = _Log(
        start, start + run, start + np.maximum(run, limit), size[known],
        here["submit_s"].to_numpy(np.float64),
        None if users is None else pd.factorize(users)[0].astype(np.int64), whole, zone,
    )  # fmt: skip
    if not len(here):
        return SiteHabits(time_zone)
    closed = _closed(log)
    return SiteHabits(time_zone, _week(log), closed, _maintenance(closed, log), _user_jobs(log))


def _held_at(at_s: Floats, begin_s: Floats, end_s: Floats, size: Floats) -> Floats:
    """Return what is held at each instant by spans that began before it and end after it."""
    by_begin, by_end = np.argsort(begin_s), np.argsort(end_s)
    begun = np.concatenate(([0.0], np.cumsum(size[by_begin])))
    ended = np.concatenate(([0.0], np.cumsum(size[by_end])))
    held: Floats = (
        begun[np.searchsorted(begin_s[by_begin], at_s, side="left")]
        - ended[np.searchsorted(end_s[by_end], at_s, side="right")]
    )
    return held


def _week(log: _Log) -> tuple[tuple[int, float], ...]:
    """Find the hours of the week that no job's time limit reaches across."""
    first, last = np.ceil(log.submit_s.min() / _HOUR_S), np.floor(log.submit_s.max() / _HOUR_S)
    hours = np.arange(first, last) * _HOUR_S
    if len(hours) < _LEAST_WEEKS * _WEEK_H:
        return ()
    place = _hour_of_week(hours, log.zone)
    believed = pd.Series(_held_at(hours, log.start_s, log.believed_s, log.size))
    waiting = _held_at(hours, log.submit_s, log.start_s, np.ones(len(log.size)))
    if not (waiting > 0).any():
        return ()
    # days of work are alike; a single hour of the week is seen too rarely to tell
    alike = np.where(place < 5 * 24, place % 24, place)
    usual = believed.groupby(alike).median()
    low = set(usual.index[(usual <= _BORDER * believed.mean()).to_numpy()])
    quiet = [(h % 24 if h < 5 * 24 else h) in low for h in range(_WEEK_H)]
    # less and less fits before a border; behind it the cluster fills again
    borders = [h for h in range(_WEEK_H) if quiet[h] and not quiet[(h + 1) % _WEEK_H]]
    if not borders or len(borders) > _WEEK_H // 8:
        return ()
    started = _hour_of_week(log.start_s, log.zone)
    limits: dict[tuple[int, int], list[Floats]] = {}
    spans = list(pairwise([*borders, borders[0] + _WEEK_H]))
    for hour, until in spans:
        inside = (started - hour) % _WEEK_H < until - hour
        limits.setdefault((hour % 24, until - hour), []).append(
            (log.believed_s - log.start_s)[inside]
        )
    return tuple(
        (hour, _longest(np.concatenate(limits[hour % 24, until - hour]), until - hour))
        for hour, until in spans
    )


def _longest(limits: Floats, hours: int) -> float:
    """Return the longest job that starts in hours of this kind; infinity: any that they hold."""
    if len(limits) < _LEAST_JOBS:
        return np.inf
    longest = float(np.ceil(np.quantile(limits, _USUAL) / _ROUND_S) * _ROUND_S)
    return longest if longest < 0.8 * hours * _HOUR_S else np.inf


def _hour_of_week(at_s: Floats, zone: ZoneInfo) -> Ints:
    local = pd.DatetimeIndex(pd.to_datetime(at_s, unit="s", utc=True)).tz_convert(zone)
    return np.asarray(local.day_of_week * 24 + local.hour, np.int64)


def _closed(log: _Log) -> tuple[tuple[float, float], ...]:
    """Find when next to nothing ran although somebody waited all the time."""
    times = np.unique(np.concatenate([log.start_s, log.end_s]))
    times = times[(times >= log.submit_s.min()) & (times <= log.submit_s.max())]
    used = _held_at(times + 0.5, log.start_s, log.end_s, log.size)
    waits = _held_at(times + 0.5, log.submit_s, log.start_s, np.ones(len(log.size)))
    idle = (used <= _CLOSED * log.whole) & (waits > 0)
    found, begin = [], None
    for place, now_idle in enumerate(idle):
        if now_idle and begin is None:
            begin = times[place]
        elif not now_idle and begin is not None:
            if times[place] - begin >= _CLOSED_S:
                found.append((float(begin), float(times[place])))
            begin = None
    return tuple(found)


def _maintenance(closed: tuple[tuple[float, float], ...], log: _Log) -> Maintenance | None:
    """Find closed times that come again after one, two or four weeks."""
    ends = np.array([end for _, end in closed])
    begins = np.array([begin for begin, _ in closed])
    last, best = float(log.submit_s.max()), None
    for weeks in (1, 2, 4):
        every = weeks * 7 * DAY_S
        for first in begins:
            due = np.arange(first, last, every)
            if len(due) < _LEAST_CLOSED:
                continue
            apart = np.abs(begins[None, :] - due[:, None])
            came = apart.min(axis=1) <= _NEAR_S
            if came.sum() < _LEAST_CLOSED or came.mean() < _CAME:
                continue
            near = apart.argmin(axis=1)[came]
            length = float(np.median(ends[near] - begins[near]))
            score = (float(came.mean()) * np.sqrt(came.sum()), -weeks)
            if best is None or score > best[0]:
                best = score, Maintenance(float(due[came][-1]), every, length)
    return None if best is None else best[1]


def _user_jobs(log: _Log) -> int | None:
    """Find the number of jobs that users with waiting jobs reach and never pass."""
    if log.user is None:
        return None
    most = []
    for user in np.unique(log.user):
        mine = log.user == user
        if mine.sum() < _LEAST_JOBS:
            continue
        ones = np.ones(int(mine.sum()))
        at = log.start_s[mine] + 0.5
        running = _held_at(at, log.start_s[mine], log.end_s[mine], ones)
        waiting = _held_at(at, log.submit_s[mine], log.start_s[mine], ones)
        if (waiting > 0).any():
            most.append(int(running[waiting > 0].max()))
    if len(most) < _LEAST_USERS:
        return None
    numbers, users = np.unique(most, return_counts=True)
    top = int(numbers.max())
    return top if users[-1] >= _LEAST_USERS and top > 0 else None


def _before_closing(
    spans: list[tuple[float, float, float]], closed: list[tuple[float, float]]
) -> list[tuple[float, float, float]]:
    """Cut time spans where the site is closed: jobs end before."""
    kept = []
    for begin, end, longest in spans:
        at = begin
        for shut, opens in closed:
            if opens <= at or shut >= end:
                continue
            if shut > at:
                kept.append((at, shut, longest))
            at = min(opens, end)
        if at < end:
            kept.append((at, end, longest))
    return kept
