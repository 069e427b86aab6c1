"""Tables 11 to 13 from their own inputs: task-level and run-level estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prophase.sizing.thesis import published
from prophase.sizing.thesis.scores import estimated_improvement


class RunEstimate(NamedTuple):
    """What one run with one scenario asks for, before and after."""

    before: float
    after: float

    @property
    def improved_pct(self) -> float:
        return 100 * (1 - self.after / self.before)


def table_11() -> dict[tuple[str, tuple[int, ...]], float]:
    """Return the estimated improvements that Table 11's inputs give, in percent.

    Examples
    --------
    >>> [round(value, 1) for value in table_11().values()]
    [79.1, 85.7, 84.9, 59.3, 69.7, 69.3]
    """
    return {
        key: estimated_improvement(row.optimal, row.accuracy, row.u_rate)
        for key, row in published.TABLE_11.items()
    }


def table_12() -> dict[str, float]:
    """Return the improvements that Table 12's amounts give; those of heavy tasks are Table 11's.

    Examples
    --------
    >>> [round(value, 1) for value in table_12().values()]
    [77.8, 90.9, 52.4, 85.7, 69.7]
    """
    best = best_estimates()
    return {
        kind: best[kind] if step.after is None else 100 * (1 - step.after / step.before)
        for kind, step in published.TABLE_12.items()
    }


def best_estimates() -> dict[str, float]:
    """Return the best estimate of each heavy task in Table 11: the three-bin ones."""
    found = table_11()
    return {
        task: max(value for (of_task, _), value in found.items() if of_task == task)
        for task in published.TASKS
    }


def run_memory(
    before_gb: float,
    static: Mapping[str, tuple[int, float]],
    heavy: Mapping[str, tuple[float, float]],
) -> RunEstimate:
    """Return the memory of one run: static requests plus what is left of predicted ones.

    Parameters
    ----------
    before_gb : float
        What the run asks for now.
    static : mapping
        Kind of task -> number of tasks, request of each.
    heavy : mapping
        Task -> what it asked for, by how many percent that improves.
    """
    fixed = sum(count * each for count, each in static.values())
    left = sum(asked * (1 - improved / 100) for asked, improved in heavy.values())
    return RunEstimate(before_gb, fixed + left)


def table_13() -> dict[str, RunEstimate]:
    """Return one run's memory and cores from Tables 4, 11 and 12.

    Examples
    --------
    >>> {name: (one.before, round(one.after)) for name, one in table_13().items()}
    {'memory': (1520, 325), 'cpu': (132, 43)}
    """
    groups = published.TABLE_4
    steps = published.TABLE_12
    parallel = groups["parallel"]
    others = published.TASK_COUNT - published.PARALLEL_TASKS
    single = steps["non-parallel"].after or 0.0
    return {
        "memory": run_memory(
            sum(group.tasks * group.memory_gb for group in groups.values()),
            {
                "light": (published.LIGHT_TASKS, steps["light"].after or 0.0),
                "moderate": (published.MODERATE_TASKS, steps["moderate"].after or 0.0),
            },
            {
                task: (steps[task].before, round(value, 1))
                for task, value in best_estimates().items()
            },
        ),
        "cpu": RunEstimate(
            sum(group.tasks * group.cores for group in groups.values()),
            others * single + parallel.tasks * parallel.cores,
        ),
    }
