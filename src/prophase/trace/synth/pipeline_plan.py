"""Scenarios, and which of them each run covers on which date."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from prophase.errors import ParameterError
from prophase.trace.synth import pipeline_world as world
from prophase.trace.synth.generator import Floats, Ints
from prophase.trace.synth.pai_groups import pick

DAYS = 366
LAST_QUARTER = 274
#: a sale that has not been run so many days before its end is run next
_LAST_CALL_DAYS = 3


@dataclass(frozen=True)
class Scenarios:
    """One entry per scenario; arrays are aligned. ``hidden`` is never shown."""

    region: Ints
    department: Ints
    products: Floats
    sale_days: Ints
    #: day of the year on which the sale is over
    end_day: Ints
    hidden: Floats
    #: product of all categorical and hidden factors
    factor: Floats
    regions: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class PipelinePlan:
    """Runs and the scenario instances in them; instances are sorted by run."""

    run_day: Ints
    run: Ints
    scenario: Ints
    remaining_days: Ints


def department_factors(random_state: int) -> Floats:
    """Return what each department does to memory; the same for old and new scenarios."""
    rng = np.random.default_rng([random_state, 2])
    return np.exp(rng.normal(0.0, world.DEPARTMENT_SD, len(world.DEPARTMENTS)))


def make_scenarios(
    rng: np.random.Generator,
    of_department: Floats,
    *,
    new_region: bool,
    first_number: int = 0,
    first_end_day: int = 4,
) -> Scenarios:
    """Draw the scenarios; products are stratified, so that seeds differ little in their tail."""
    count = world.SCENARIOS
    regions, factors = list(world.REGIONS), list(world.REGION_FACTORS)
    region = pick(rng, world.REGION_SHARES, count)
    quantile = (rng.permutation(count) + rng.random(count)) / count
    products = np.exp(np.log(world.PRODUCTS_MEDIAN) + world.PRODUCTS_SD * ndtri(quantile))
    sale_days = np.array(world.SALE_DAYS)[pick(rng, world.SALE_DAYS_SHARES, count)]
    # sales may begin before the year and end after it, so that no day is without sales
    span = DAYS + sale_days - 2 - first_end_day
    end_day = first_end_day + np.floor((rng.permutation(count) + rng.random(count)) / count * span)
    end_day = end_day.astype(np.int64)
    if new_region:
        regions.append(world.NEW_REGION)
        factors.append(world.NEW_REGION_FACTOR)
        late = np.flatnonzero(end_day - sale_days >= LAST_QUARTER)
        region[late[rng.random(len(late)) < 0.5]] = len(regions) - 1
    hidden = np.exp(rng.normal(0.0, world.HIDDEN_SD, count))
    department = rng.integers(0, len(of_department), count)
    return Scenarios(
        region=region,
        department=department,
        products=np.round(np.clip(products, *world.PRODUCTS_RANGE)),
        sale_days=sale_days,
        end_day=end_day,
        hidden=hidden,
        factor=np.array(factors)[region] * of_department[department] * hidden,
        regions=tuple(regions),
        names=tuple(f"scenario-{first_number + place:03d}" for place in range(count)),
    )


def make_plan(
    rng: np.random.Generator, scenarios: Scenarios, *, runs: int, instances: int
) -> PipelinePlan:
    """Choose for each run the sales it covers: those that are on, each about equally often."""
    if not runs <= instances <= world.LARGEST_RUN * runs:
        raise ParameterError(
            f"pipeline: {instances} scenario instances do not fit into {runs} runs of 1 to "
            f"{world.LARGEST_RUN} scenarios."
        )
    size = _run_sizes(rng, runs, instances)
    day = np.sort(np.floor((np.arange(runs) + rng.random(runs)) / runs * DAYS)).astype(np.int64)
    uses = np.zeros(len(scenarios.products))
    begin = scenarios.end_day - scenarios.sale_days
    run_of, chosen_of = [], []
    for run in range(runs):
        on = np.flatnonzero((begin <= day[run]) & (day[run] < scenarios.end_day))
        count = min(int(size[run]), len(on))
        # a short sale has fewer days to be run on; one that nearly ended unrun comes first
        left = np.minimum(scenarios.end_day[on], DAYS) - day[run]
        last_call = (uses[on] == 0) & (left <= _LAST_CALL_DAYS)
        wanted = np.where(last_call, np.inf, 1.0 / scenarios.sale_days[on])
        taken = on[_drawn(rng, wanted, count)]
        uses[taken] += 1
        run_of.append(np.full(count, run))
        chosen_of.append(taken)
        if count < size[run] and run + 1 < runs:
            _hand_on(size, run, int(size[run]) - count)
    run_, scenario = np.concatenate(run_of), np.concatenate(chosen_of)
    remaining = np.maximum(scenarios.end_day[scenario] - day[run_], 1)
    return PipelinePlan(day, run_, scenario, remaining)


def _drawn(rng: np.random.Generator, weight: Floats, count: int) -> Ints:
    """Draw ``count`` distinct places, each with a probability in proportion to its weight.

    Systematic sampling: successive draws without replacement would favour small weights,
    here long sales. Infinite weights, and those that would exceed certainty, are certain.
    """
    chance = np.zeros(len(weight))
    certain = np.isinf(weight)
    if certain.sum() >= count:
        return rng.permutation(np.flatnonzero(certain))[:count]
    while True:
        chance[certain] = 1.0
        rest = ~certain
        chance[rest] = weight[rest] * (count - certain.sum()) / weight[rest].sum()
        if not (chance[rest] > 1.0).any():
            break
        certain |= chance > 1.0
    order = rng.permutation(len(weight))
    reached = np.cumsum(chance[order])
    marks = (rng.random() + np.arange(count)) * (reached[-1] / count)
    return np.asarray(order[np.searchsorted(reached, marks, side="right")], dtype=np.int64)


def _run_sizes(rng: np.random.Generator, runs: int, instances: int) -> Ints:
    """Sizes between 1 and the largest that add up to the number of instances."""
    mean_extra = (instances - runs) / runs / (world.LARGEST_RUN - 1)
    size = 1 + rng.binomial(world.LARGEST_RUN - 1, rng.beta(1.6, 1.6 / mean_extra - 1.6, runs))
    while (gap := instances - int(size.sum())) != 0:
        open_to_change = np.flatnonzero(size < world.LARGEST_RUN if gap > 0 else size > 1)
        moved = rng.choice(open_to_change, size=min(abs(gap), len(open_to_change)), replace=False)
        size[moved] += np.sign(gap)
    return np.asarray(size, dtype=np.int64)


def _hand_on(size: Ints, run: int, missing: int) -> None:
    """Give what a run could not take to the next runs that have room."""
    for later in range(run + 1, len(size)):
        room = min(world.LARGEST_RUN - int(size[later]), missing)
        size[later] += room
        missing -= room
        if not missing:
            return
