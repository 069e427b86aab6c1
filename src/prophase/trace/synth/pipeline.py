"""The world of the load-aware scheduler thesis: one pipeline, 27 tasks, 153 sales.

Two tasks need little memory on most days and up to 175 GiB on some; all others are
modest. Which day is heavy follows from products x remaining days, from region and
department, and from a factor that nobody can see before the task has run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.errors import ParameterError
from prophase.trace.synth import pipeline_world as world
from prophase.trace.synth.generator import (
    Floats,
    Ints,
    TraceGenerator,
    chosen,
    numbered,
    seeded,
    synthetic_trace,
)
from prophase.trace.synth.pipeline_plan import (
    DAYS,
    PipelinePlan,
    Scenarios,
    department_factors,
    make_plan,
    make_scenarios,
)
from prophase.trace.trace_tables import Trace

_YEAR = pd.Timestamp("2020-01-01")
_YEAR_S = _YEAR.timestamp()
_DAY_S = 86400.0
_NAMES = [kind.name for kind in world.TASKS]


def make_pipeline(
    *,
    logic_change_task: str = "",
    logic_change_date: str = "2020-07-01",
    fifth_region: bool = False,
    new_scenarios: bool = False,
    random_state: int = 0,
) -> Trace:
    """Return the thesis' dataset in kind: 34,368 task instances of 380 runs in the year 2020.

    Parameters
    ----------
    logic_change_task : str, optional
        Name of a task whose code changes: from the date on it needs 1.6 times the memory.
    fifth_region : bool, default=False
        Open a region in the last quarter that no earlier row has seen.
    new_scenarios : bool, default=False
        The same world, but only sales that the trace without this switch does not have.
        Learn on one, test on the other.

    Returns
    -------
    Trace
        ``jobs`` has one row per task instance; ``group`` is the scenario and ``parent_id``
        the run. ``truth_hidden`` holds the factor of each scenario that is never exposed,
        ``truth_tasks`` the cluster of each task.

    Examples
    --------
    >>> jobs = make_pipeline().jobs
    >>> len(jobs), jobs["parent_id"].nunique(), jobs["task"].nunique()
    (34368, 380, 27)
    """
    change_day = _check(logic_change_task, logic_change_date)
    rng = seeded(random_state)
    if new_scenarios:
        rng = np.random.default_rng([random_state, 1])
    scenarios = make_scenarios(
        rng,
        department_factors(random_state),
        new_region=fifth_region,
        first_number=world.SCENARIOS if new_scenarios else 0,
    )
    plan = make_plan(rng, scenarios, runs=world.RUNS, instances=world.INSTANCES)
    task, run, instance = _task_instances(scenarios, plan)
    memory = _memory(rng, scenarios, plan, task, instance)
    if logic_change_task:
        changed = (task == _NAMES.index(logic_change_task)) & (plan.run_day[run] >= change_day)
        memory = np.where(changed, memory * world.LOGIC_CHANGE_FACTOR, memory)
    minutes = _minutes(rng, task, memory)
    jobs = _job_table(rng, scenarios, plan, task, run, instance, memory, minutes)
    parameters = {
        "logic_change_task": logic_change_task,
        "logic_change_date": logic_change_date if logic_change_task else "",
        "fifth_region": fifth_region,
        "new_scenarios": new_scenarios,
    }
    return synthetic_trace(
        "pipeline",
        {"jobs": jobs},
        parameters,
        random_state=random_state,
        truth={"truth_hidden": _hidden(scenarios), "truth_tasks": _clusters()},
    )


def _check(task: str, date: str) -> int:
    """Return the day of the year of the change."""
    if task and task not in _NAMES:
        raise ParameterError(
            f"pipeline: logic_change_task is {task!r}, which is no task. "
            f"Tasks: {', '.join(_NAMES)}."
        )
    try:
        day = (pd.Timestamp(date) - _YEAR).days
    except ValueError as cause:
        raise ParameterError(
            f"pipeline: logic_change_date is {date!r}. Pass a date such as 2020-07-01."
        ) from cause
    if not 0 <= day < DAYS:
        raise ParameterError(f"pipeline: logic_change_date is {date}; the runs are all in 2020.")
    return day


def _task_instances(scenarios: Scenarios, plan: PipelinePlan) -> tuple[Ints, Ints, Ints]:
    """Return task, run and scenario instance (-1 for common tasks) of every row.

    Common tasks start once per run, the others once per scenario in it. Parallel tasks
    start twice for the larger part of the work.
    """
    work = scenarios.products[plan.scenario] * plan.remaining_days
    split = np.argsort(-work, kind="stable")[: world.SPLIT_INSTANCES]
    parts = []
    for place, kind in enumerate(world.TASKS):
        if kind.common:
            runs = np.arange(len(plan.run_day))
            parts.append((np.full(len(runs), place), runs, np.full(len(runs), -1)))
            continue
        instance = np.arange(len(plan.run))
        if kind.group == "parallel":
            instance = np.concatenate([instance, split])
        parts.append((np.full(len(instance), place), plan.run[instance], instance))
    task, run, instance = (np.concatenate([part[i] for part in parts]) for i in range(3))
    order = np.lexsort((instance, task, run))
    return task[order], run[order], instance[order]


def _memory(
    rng: np.random.Generator, scenarios: Scenarios, plan: PipelinePlan, task: Ints, instance: Ints
) -> Floats:
    """Peak memory of every row in GiB."""
    scenario = plan.scenario[instance]
    work = np.where(instance >= 0, scenarios.products[scenario] * plan.remaining_days[instance], 1)
    memory = np.empty(len(task))
    for place, kind in enumerate(world.TASKS):
        mine = np.flatnonzero(task == place)
        count = len(mine)
        if kind.cluster == "heavy":
            law = world.HEAVY[kind.name]
            base = law.base_gib * np.exp(rng.normal(0.0, world.BASE_SD, count))
            growth = law.factor * scenarios.factor[scenario[mine]] * work[mine] ** law.power
            noisy = growth * np.exp(rng.normal(0.0, world.GROWTH_SD, count))
            memory[mine] = np.minimum(base + noisy, law.limit_gib)
        elif kind.cluster == "moderate":
            mild = (work[mine] / np.median(work[mine])) ** 0.3
            spread = np.exp(rng.normal(0.0, 0.4, count))
            memory[mine] = np.minimum(kind.median_gib * mild**0.5 * spread, 19.5)
        else:
            memory[mine] = np.minimum(kind.median_gib * np.exp(rng.normal(0.0, 0.25, count)), 4.8)
    return memory


def _minutes(rng: np.random.Generator, task: Ints, memory: Floats) -> Floats:
    """Run time; a heavy task that needs more memory also takes longer."""
    minutes = np.array([kind.minutes for kind in world.TASKS])[task]
    for place, kind in enumerate(world.TASKS):
        if kind.cluster == "heavy":
            mine = task == place
            relative = memory[mine] / np.median(memory[mine])
            minutes[mine] = 4.0 * relative ** world.HEAVY[kind.name].duration_exponent
    return np.asarray(minutes * np.exp(rng.normal(0.0, world.DURATION_SD, len(task))))


def _cpu(rng: np.random.Generator, task: Ints) -> Floats:
    """Peak cores: one process uses up to one, parallel tasks two to five."""
    group = np.array([kind.group for kind in world.TASKS])[task]
    count = len(task)
    single = 0.3 + 0.7 * rng.beta(4.0, 2.0, count)
    parallel = 2.0 + 3.0 * rng.beta(2.0, 2.0, count)
    computing = 1.0 + 0.1 * rng.random(count)
    return np.select(
        [group == "parallel", group == "compute-intensive"], [parallel, computing], single
    )


def _job_table(
    rng: np.random.Generator, scenarios: Scenarios, plan: PipelinePlan, task: Ints, run: Ints,
    instance: Ints, memory: Floats, minutes: Floats,
) -> pd.DataFrame:  # fmt: skip
    groups = [world.ALLOCATIONS[kind.group] for kind in world.TASKS]
    cores, gib = np.array(groups)[task].T
    oom = memory > gib
    # a task that runs out of memory dies on the way there, and its peak is the limit
    duration = np.round(60 * np.where(oom, minutes * gib / memory, minutes), 1)
    wait = np.round(5 + rng.exponential(20.0, len(task)), 1)
    submit = _submit_times(rng, plan, task, run, instance, duration + wait)
    known = instance >= 0
    scenario = np.where(known, plan.scenario[instance], -1)
    dates = [str((_YEAR + pd.Timedelta(days=int(day))).date()) for day in range(DAYS)]

    def of_scenario(values: Ints | Floats) -> Floats:
        return np.where(known, np.asarray(values, dtype=float)[scenario], np.nan)

    order = np.lexsort((submit, run))
    frame = pd.DataFrame(
        {
            "job_id": numbered("task-", np.arange(len(task))),
            "parent_id": chosen([f"run-{n:03d}" for n in range(len(plan.run_day))], run),
            "group": chosen(scenarios.names, scenario),
            "workload": chosen(["sale-pipeline"], np.zeros_like(task)),
            "task": chosen(_NAMES, task),
            "source": chosen(["synth-pipeline"], np.zeros_like(task)),
            "submit_s": submit,
            "start_s": submit + wait,
            "end_s": submit + wait + duration,
            "duration_s": duration,
            "wait_s": wait,
            "status": chosen(["completed", "oom"], oom.astype(np.int64)),
            "instances": np.ones(len(task)),
            "request_cpu_cores": cores,
            "request_memory_gib": gib,
            "cpu_peak_cores": _cpu(rng, task),
            "memory_peak_gib": np.minimum(memory, gib),
            "attr_allocation_group": chosen([k.group for k in world.TASKS], task),
            "attr_region": chosen(
                scenarios.regions, np.where(known, scenarios.region[scenario], -1)
            ),
            "attr_department": chosen(
                world.DEPARTMENTS, np.where(known, scenarios.department[scenario], -1)
            ),
            "attr_products": of_scenario(scenarios.products),
            "attr_sale_days": of_scenario(scenarios.sale_days),
            "attr_remaining_days": np.where(known, plan.remaining_days[instance], np.nan),
            "attr_execution_date": chosen(dates, plan.run_day[run]),
        }
    )
    frame = frame.iloc[order].reset_index(drop=True)
    frame["job_id"] = numbered("task-", np.arange(len(frame)))
    return frame


def _submit_times(
    rng: np.random.Generator,
    plan: PipelinePlan,
    task: Ints,
    run: Ints,
    instance: Ints,
    spent: Floats,
) -> Floats:
    """Tasks of one scenario follow one another; the last common tasks wait for all of them."""
    common = instance < 0
    half = len(world.TASKS) // 2
    before, after = common & (task < half), common & (task >= half)
    start = (
        _YEAR_S + plan.run_day * _DAY_S + np.round(3600 * (1 + 5 * rng.random(len(plan.run_day))))
    )
    submit = np.empty(len(task))
    submit[before] = start[run[before]] + _chained(run[before], spent[before])
    ready = start + np.bincount(run[before], spent[before], minlength=len(start))
    chain = ~common
    submit[chain] = ready[run[chain]] + _chained(instance[chain], spent[chain])
    done = ready.copy()
    np.maximum.at(done, run[chain], submit[chain] + spent[chain])
    submit[after] = done[run[after]] + _chained(run[after], spent[after])
    return np.round(submit, 1)


def _chained(chain: Ints, spent: Floats) -> Floats:
    """Return the time spent in a chain before each of its members, in the order given."""
    order = np.argsort(chain, kind="stable")
    total = np.cumsum(spent[order]) - spent[order]
    first = np.flatnonzero(np.diff(chain[order], prepend=-1))
    lengths = np.diff(np.append(first, len(chain)))
    before = np.empty(len(chain))
    before[order] = total - np.repeat(total[first], lengths)
    return before


def _hidden(scenarios: Scenarios) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": pd.Series(scenarios.names, dtype="str"),
            "hidden_factor": scenarios.hidden,
            "factor": scenarios.factor,
        }
    )


def _clusters() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "task": pd.Series(_NAMES, dtype="str"),
            "cluster": pd.Series([kind.cluster for kind in world.TASKS], dtype="str"),
            "common": [kind.common for kind in world.TASKS],
        }
    )


GENERATOR = TraceGenerator(
    "pipeline",
    "a retail pipeline like the load-aware scheduler thesis': 27 tasks, 34,368 rows",
    make_pipeline,
    {
        "logic_change_task": "a task whose memory grows to 1.6 times from a date on",
        "logic_change_date": "that date, in 2020",
        "fifth_region": "open a region in the last quarter (yes or no)",
        "new_scenarios": "the same world, but only sales the trace without it lacks (yes or no)",
    },
)
