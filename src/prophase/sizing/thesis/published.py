"""Numbers printed in the thesis, table by table. It counts memory in GB; so do these names."""

from __future__ import annotations

from typing import NamedTuple

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


class Estimate(NamedTuple):
    """Table 11: what an improvement is estimated from, and the estimate (%)."""

    optimal: float
    accuracy: float
    u_rate: float
    estimated: float


TABLE_11 = {
    ("heavy task 1", (30, 350)): Estimate(79.3, 99.8, 0.0, 79.1),
    ("heavy task 1", (10, 60, 350)): Estimate(88.1, 97.5, 0.2, 85.7),
    ("heavy task 1", (10, 20, 60, 350)): Estimate(89.0, 96.6, 1.1, 84.9),
    ("heavy task 2", (40, 200)): Estimate(59.4, 99.8, 0.0, 59.3),
    ("heavy task 2", (20, 70, 200)): Estimate(71.0, 98.9, 0.5, 69.7),
    ("heavy task 2", (10, 30, 70, 200)): Estimate(74.3, 95.9, 2.0, 69.3),
}


class Step(NamedTuple):
    """Table 12: what a kind of task asked for, asks for now, and what that improves (%)."""

    before: float
    after: float | None
    improved: float


TABLE_12 = {
    "non-parallel": Step(4.5, 1, 77.8),
    "light": Step(55, 5, 91.0),
    "moderate": Step(42, 20, 52.5),
    "heavy task 1": Step(350, None, 85.7),
    "heavy task 2": Step(100, None, 69.7),
}
#: how many tasks are of each kind; the text says 27, Table 13 needs 17 and 8
LIGHT_TASKS, MODERATE_TASKS, PARALLEL_TASKS = 17, 8, 4

TABLE_13 = {"memory": Step(1520, 325, 78.6), "cpu": Step(132, 43, 67.4)}
