"""Blocks of days that hold the backlog of a schedule: what intervals of waits are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.plural import counted
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import Floats
from prophase.stats import Estimate, calendar_blocks, mean
from prophase.stats.block_length import days_drawn, days_together
from prophase.stats.blocks import DAY_S, Blocks

#: fewer independent blocks than this say next to nothing about how they differ
LEAST_BLOCKS = 4


@dataclass(frozen=True)
class BacklogDays:
    """How many days in a row hold a backlog, how many are drawn, and how many there are.

    As long as the load and the waiting remember themselves: see ``prophase.stats.block_length``.
    """

    together: int
    drawn: int
    all: int


def days_of_backlog(schedule: JobTimes) -> BacklogDays:
    """Return how many days in a row have to stay together."""
    workload = schedule.workload
    amount = workload.gpus if workload.gpus.any() else workload.cores
    work = (amount if amount.any() else np.ones(len(workload))) * workload.duration_s
    return _days(workload.submit_s, work, schedule.wait_s)


def backlog_blocks(schedule: JobTimes) -> Blocks:
    """Return the block of each job: days or weeks of the calendar, longer ones under a backlog."""
    return _blocks(schedule.workload.submit_s, days_of_backlog(schedule).together)


def mean_wait(submit_s: Floats, work: Floats, wait_s: Floats) -> Estimate:
    """Return the mean wait, with an interval over blocks of days that hold the backlog."""
    blocks = _blocks(submit_s, _days(submit_s, work, wait_s).together)
    if reason := why_too_few(blocks):
        return Estimate(float(wait_s.mean()), reason=reason)
    return mean(wait_s, blocks).within(0.0)


def _days(submit_s: Floats, work: Floats, wait_s: Floats) -> BacklogDays:
    day = np.floor(submit_s / DAY_S).astype(np.int64)
    day -= day.min()
    load, waiting = np.bincount(day, work), np.bincount(day, np.nan_to_num(wait_s))
    days, by_chance = len(load), float((work**2).sum()) / len(load)
    together = min(days_together(load, waiting), days)
    return BacklogDays(together, days_drawn(load, waiting, by_chance), days)


def _blocks(submit_s: Floats, together: int) -> Blocks:
    calendar = calendar_blocks(submit_s)
    if together <= (7 if calendar.unit == "week" else 1):
        return calendar
    day = np.floor(submit_s / DAY_S)
    return Blocks.of((day - day.min()) // together, unit=f"block of {together} days")


def why_too_few(blocks: Blocks) -> str:
    """Return why there is no interval over these blocks; nothing if there is one."""
    if blocks.count >= LEAST_BLOCKS:
        return ""
    return f"too short to say: {_told(blocks)}, at least {LEAST_BLOCKS} needed"


def _told(blocks: Blocks) -> str:
    many = blocks.unit.replace("block of", "blocks of", 1) if blocks.count != 1 else blocks.unit
    return f"{blocks.count} {many}" if " " in many else counted(blocks.count, blocks.unit)
