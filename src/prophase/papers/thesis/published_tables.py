"""Numbers printed in the thesis, in GB as there, and tables 11 to 13 from their own inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prophase.sizing.bins.scores import estimated_improvement

TASKS = ("heavy task 1", "heavy task 2")
#: the tasks of the synthetic pipeline that stand for them
STAND_INS = {"heavy task 1": "predict_demand", "heavy task 2": "optimise_discounts"}

RUNS, ROWS, TASK_COUNT, SCENARIOS, REGIONS, HEAVY_RUNS = 380, 34_368, 27, 153, 4, 1460
#: figure 12: where its axis ends
LARGEST_GB = 175.0


class Group(NamedTuple):
    """Table 4: tasks of one static allocation."""

    tasks: int
    cores: float
    memory_gb: float


TABLE_4 = {
    "normal": Group(20, 4, 20),
    "parallel": Group(4, 5, 100),
    "memory-intensive": Group(2, 6, 350),
    "compute-intensive": Group(1, 20, 20),
}

#: task, bins -> optimal improvement, time-based optimal improvement (%)
TABLE_6 = {
    ("heavy task 1", (30, 350)): (89.9, 79.3),
    ("heavy task 1", (10, 60, 350)): (95.9, 88.1),
    ("heavy task 1", (10, 20, 60, 350)): (96.2, 89.0),
    ("heavy task 2", (40, 200)): (78.7, 59.4),
    ("heavy task 2", (20, 70, 200)): (88.7, 71.0),
    ("heavy task 2", (10, 30, 70, 200)): (93.4, 74.3),
}

#: Tables 7 and 8: task, bins, classifier -> accuracy (%), u_score
TABLES_7_8 = {
    ("heavy task 1", (30, 350), "xgboost"): (99.8, 0.2),
    ("heavy task 1", (30, 350), "svm"): (99.1, 3.0),
    ("heavy task 1", (10, 60, 350), "xgboost"): (97.5, 4.5),
    ("heavy task 1", (10, 60, 350), "svm"): (96.6, 5.5),
    ("heavy task 1", (10, 20, 60, 350), "xgboost"): (96.1, 28.4),
    ("heavy task 1", (10, 20, 60, 350), "svm"): (96.6, 13.6),
    ("heavy task 2", (40, 200), "xgboost"): (99.8, 0.2),
    ("heavy task 2", (40, 200), "svm"): (99.3, 0.7),
    ("heavy task 2", (20, 70, 200), "xgboost"): (98.2, 8.0),
    ("heavy task 2", (20, 70, 200), "svm"): (98.9, 5.2),
    ("heavy task 2", (10, 30, 70, 200), "xgboost"): (95.9, 22.5),
    ("heavy task 2", (10, 30, 70, 200), "svm"): (94.3, 20.0),
}

#: Tables 9 (svm) and 10 (xgboost): classifier, task, bins -> u_score of none, random, smote
TABLES_9_10 = {
    ("svm", "heavy task 1", (30, 350)): (5.2, 3.0, 3.0),
    ("svm", "heavy task 1", (10, 60, 350)): (5.5, 5.7, 5.2),
    ("svm", "heavy task 1", (10, 20, 60, 350)): (13.0, 13.6, 13.6),
    ("svm", "heavy task 2", (40, 200)): (0.7, 0.7, 0.7),
    ("svm", "heavy task 2", (20, 70, 200)): (5.2, 5.2, 5.2),
    ("svm", "heavy task 2", (10, 30, 70, 200)): (20.0, 24.8, 24.5),
    ("xgboost", "heavy task 1", (30, 350)): (4.8, 0.2, 2.5),
    ("xgboost", "heavy task 1", (10, 60, 350)): (10.2, 5.0, 4.5),
    ("xgboost", "heavy task 1", (10, 20, 60, 350)): (36.8, 28.4, 18.6),
    ("xgboost", "heavy task 2", (40, 200)): (4.8, 0.9, 0.2),
    ("xgboost", "heavy task 2", (20, 70, 200)): (11.4, 9.3, 8.0),
    ("xgboost", "heavy task 2", (10, 30, 70, 200)): (30.7, 21.6, 22.5),
}


class PublishedEstimate(NamedTuple):
    """Table 11: what an improvement is estimated from, and the estimate (%)."""

    optimal: float
    accuracy: float
    u_rate: float
    estimated: float


TABLE_11 = {
    ("heavy task 1", (30, 350)): PublishedEstimate(79.3, 99.8, 0.0, 79.1),
    ("heavy task 1", (10, 60, 350)): PublishedEstimate(88.1, 97.5, 0.2, 85.7),
    ("heavy task 1", (10, 20, 60, 350)): PublishedEstimate(89.0, 96.6, 1.1, 84.9),
    ("heavy task 2", (40, 200)): PublishedEstimate(59.4, 99.8, 0.0, 59.3),
    ("heavy task 2", (20, 70, 200)): PublishedEstimate(71.0, 98.9, 0.5, 69.7),
    ("heavy task 2", (10, 30, 70, 200)): PublishedEstimate(74.3, 95.9, 2.0, 69.3),
}


class PublishedStep(NamedTuple):
    """Table 12: what a kind of task asked for, asks for now, and what that improves (%)."""

    before: float
    after: float | None
    improved: float


TABLE_12 = {
    "non-parallel": PublishedStep(4.5, 1, 77.8),
    "light": PublishedStep(55, 5, 91.0),
    "moderate": PublishedStep(42, 20, 52.5),
    "heavy task 1": PublishedStep(350, None, 85.7),
    "heavy task 2": PublishedStep(100, None, 69.7),
}
#: how many tasks are of each kind; the text says 27, Table 13 needs 17 and 8
LIGHT_TASKS, MODERATE_TASKS, PARALLEL_TASKS = 17, 8, 4

TABLE_13 = {"memory": PublishedStep(1520, 325, 78.6), "cpu": PublishedStep(132, 43, 67.4)}


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
        for key, row in TABLE_11.items()
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
        for kind, step in TABLE_12.items()
    }


def best_estimates() -> dict[str, float]:
    """Return the best estimate of each heavy task in Table 11: the three-bin ones."""
    found = table_11()
    return {
        task: max(value for (of_task, _), value in found.items() if of_task == task)
        for task in TASKS
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
    groups = TABLE_4
    steps = TABLE_12
    parallel = groups["parallel"]
    others = TASK_COUNT - PARALLEL_TASKS
    single = steps["non-parallel"].after or 0.0
    return {
        "memory": run_memory(
            sum(group.tasks * group.memory_gb for group in groups.values()),
            {
                "light": (LIGHT_TASKS, steps["light"].after or 0.0),
                "moderate": (MODERATE_TASKS, steps["moderate"].after or 0.0),
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
