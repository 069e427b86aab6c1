"""Blocks of days that hold the backlog of a schedule: what intervals of waits are made from."""

from __future__ import annotations

import numpy as np

from prophase.plural import counted
from prophase.sim.job_times import JobTimes
from prophase.stats import calendar_blocks
from prophase.stats.block_length import days_together
from prophase.stats.blocks import DAY_S, Blocks

#: fewer independent blocks than this say next to nothing about how they differ
LEAST_BLOCKS = 4


def days_of_backlog(schedule: JobTimes) -> tuple[int, int]:
    """Return how many days in a row have to stay together, and how many days there are.

    As long as the load and the waiting remember themselves: see ``prophase.stats.block_length``.
    """
    workload = schedule.workload
    day = np.floor(workload.submit_s / DAY_S).astype(np.int64)
    day -= day.min()
    amount = workload.gpus if workload.gpus.any() else workload.cores
    load = np.bincount(day, (amount if amount.any() else 1.0) * workload.duration_s)
    waiting = np.bincount(day, np.nan_to_num(schedule.wait_s))
    return min(days_together(load, waiting), len(load)), len(load)


def backlog_blocks(schedule: JobTimes) -> Blocks:
    """Return the block of each job: days or weeks of the calendar, longer ones under a backlog."""
    submit = schedule.workload.submit_s
    calendar = calendar_blocks(submit)
    together, _ = days_of_backlog(schedule)
    if together <= (7 if calendar.unit == "week" else 1):
        return calendar
    day = np.floor(submit / DAY_S)
    return Blocks.of((day - day.min()) // together, unit=f"block of {together} days")


def why_too_few(blocks: Blocks) -> str:
    """Return why there is no interval over these blocks; nothing if there is one."""
    if blocks.count >= LEAST_BLOCKS:
        return ""
    return f"too short to say: {_told(blocks)}, at least {LEAST_BLOCKS} needed"


def _told(blocks: Blocks) -> str:
    many = blocks.unit.replace("block of", "blocks of", 1) if blocks.count != 1 else blocks.unit
    return f"{blocks.count} {many}" if " " in many else counted(blocks.count, blocks.unit)
