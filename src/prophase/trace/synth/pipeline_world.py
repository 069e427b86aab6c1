"""The pipeline of the thesis: its 27 tasks, their static allocations and how much they use.

Source: "Designing and implementing a load aware scheduler for machine learning jobs"
(IT 21 100), Tables 3 to 6. The thesis counts memory in GB; the tables here in GiB, with
the same numbers.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Cluster = Literal["light", "moderate", "heavy"]
Group = Literal["normal", "parallel", "memory-intensive", "compute-intensive"]

#: group -> cores, GiB (Table 4)
ALLOCATIONS = {
    "normal": (4.0, 20.0),
    "parallel": (5.0, 100.0),
    "memory-intensive": (6.0, 350.0),
    "compute-intensive": (20.0, 20.0),
}


class TaskKind(NamedTuple):
    """One of the 27 tasks."""

    name: str
    group: Group
    cluster: Cluster
    #: run once per run, whatever the scenarios
    common: bool
    #: median memory of light and moderate tasks, GiB
    median_gib: float
    #: median run time, minutes
    minutes: float


def _common(name: str, median: float, minutes: float) -> TaskKind:
    return TaskKind(name, "normal", "light", True, median, minutes)


# fmt: off
TASKS = (
    _common("fetch_calendar",      0.30, 0.6), _common("fetch_stores",       0.35, 0.8),
    _common("fetch_campaigns",     0.45, 0.9), _common("check_inputs",       0.40, 0.5),
    TaskKind("load_articles",       "normal",   "light",    False, 0.80, 1.5),
    TaskKind("load_sales",          "parallel", "light",    False, 1.50, 3.0),
    TaskKind("load_stock",          "parallel", "light",    False, 1.30, 2.5),
    TaskKind("load_prices",         "normal",   "light",    False, 0.70, 1.2),
    TaskKind("clean_sales",         "parallel", "light",    False, 1.40, 2.8),
    TaskKind("clean_stock",         "normal",   "light",    False, 0.90, 1.4),
    TaskKind("join_history",        "normal",   "moderate", False, 2.40, 4.0),
    TaskKind("build_features",      "parallel", "moderate", False, 3.00, 5.0),
    TaskKind("seasonal_features",   "normal",   "moderate", False, 1.60, 2.4),
    TaskKind("price_elasticity",    "normal",   "moderate", False, 2.10, 3.5),
    TaskKind("train_demand",        "compute-intensive", "light", False, 1.10, 9.0),
    TaskKind("validate_model",      "normal",   "light",    False, 0.95, 2.0),
    TaskKind("predict_demand",      "memory-intensive", "heavy", False, 1.60, 4.0),
    TaskKind("optimise_discounts",  "memory-intensive", "heavy", False, 1.90, 4.0),
    TaskKind("rank_discounts",      "normal",   "moderate", False, 1.80, 2.2),
    TaskKind("simulate_sale",       "normal",   "moderate", False, 2.60, 4.5),
    TaskKind("check_constraints",   "normal",   "moderate", False, 1.20, 1.6),
    TaskKind("aggregate_results",   "normal",   "moderate", False, 1.50, 1.8),
    TaskKind("write_proposals",     "normal",   "light",    False, 0.60, 1.0),
    _common("publish_proposals",   0.50, 0.7), _common("publish_metrics",    0.35, 0.5),
    _common("archive_run",         0.40, 1.1), _common("notify_users",       0.30, 0.3),
)
# fmt: on


class HeavyLaw(NamedTuple):
    """Memory of a heavy task: a base, plus a part that grows with products x remaining days."""

    base_gib: float
    factor: float
    power: float
    limit_gib: float
    #: run time in minutes = 4 (memory / median)^exponent
    duration_exponent: float


HEAVY = {
    "predict_demand": HeavyLaw(1.3, 2.6e-4, 1.06, 175.0, 0.75),
    "optimise_discounts": HeavyLaw(1.1, 8.5e-4, 0.97, 135.0, 1.10),
}
#: spread of the logarithm of the base, of the growing part, and of the run time
BASE_SD, GROWTH_SD, DURATION_SD = 0.08, 0.12, 0.25

REGIONS = ("north", "west", "south", "east")
REGION_SHARES = (0.4, 0.3, 0.2, 0.1)
REGION_FACTORS = (1.0, 1.35, 0.75, 1.8)
#: opens in the last quarter if asked for
NEW_REGION, NEW_REGION_FACTOR = "overseas", 2.4
DEPARTMENTS = ("ladies", "men", "kids", "baby", "sport", "home", "shoes", "beauty")
DEPARTMENT_SD = 0.15
PRODUCTS_MEDIAN, PRODUCTS_SD, PRODUCTS_RANGE = 80.0, 1.65, (3.0, 12_000.0)
SALE_DAYS = (14, 28, 42, 56)
SALE_DAYS_SHARES = (0.20, 0.35, 0.30, 0.15)
#: prices and discounts: drive the memory, but nobody knows them before the task has run
HIDDEN_SD = 0.18

RUNS, SCENARIOS, INSTANCES = 380, 153, 1460
LARGEST_RUN = 8
#: of the scenario instances, those for which parallel tasks start twice: makes 34,368 rows
SPLIT_INSTANCES = 897
LOGIC_CHANGE_FACTOR = 1.6
