"""The cheapest nodes to buy so that a promise about waiting is kept, proven at the neighbours.

Offers are kinds of nodes with a price. A mix is how many of each are added to today's cluster. For
every count of the other kinds, the fewest of the last kind that do are found by halving; no mix
dearer than the best one so far is replayed. The answer stands when it reaches the target, every mix
with one node fewer misses it, and every mix with one node more reaches it as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pandas as pd

from prophase import units
from prophase.errors import FormatError, InputError, MissingFileError, ParameterError
from prophase.plain import finite
from prophase.result import Result, Table
from prophase.sim.cluster import Cluster
from prophase.sim.measures.cost import cost_per_hour
from prophase.sim.request_variants import highest_of
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import unfit_jobs
from prophase.sim.sweep.resampled_traces import AS_RECORDED, blocks_for
from prophase.sim.whatif.comparison import drawing
from prophase.sim.whatif.scenarios import WhatIfScenario
from prophase.sim.whatif.smallest_cluster import WaitTarget
from prophase.sim.workload import Workload
from prophase.stats.month import MONTH_S
from prophase.trace.prices import Prices

#: nodes of one kind that are tried, where an offer states no limit
_MOST = 256
#: replays after which the best mix found so far is all that can be said
_MOST_REPLAYS = 3000
_AMOUNTS = ("gpus", "cpu_cores", "memory_gib")
_FORM = (
    "Write a table with a row per kind of node: gpus, gpu_type, cpu_cores, memory_gib; if you like "
    "name, price_per_hour (else the price file decides) and most (how many can be had)."
)

Mix = tuple[int, ...]


@dataclass(frozen=True)
class NodeOffer:
    """A kind of node that can be bought; ``node`` is its row of a node table."""

    name: str
    node: Mapping[str, object]
    price_per_hour: float
    most: int = _MOST


@dataclass(frozen=True)
class TriedMix:
    """What a mix costs per hour and what the target speaks of; infinite if jobs fit nowhere."""

    scenario: str
    mix: Mix
    cost_per_hour: float
    value_s: float
    reaches: bool


@dataclass(frozen=True)
class Purchase:
    """The cheapest mix, what its neighbours do, and on how many resampled traces it holds.

    ``best`` is None, and ``why_not`` says why, if no mix reaches the target.
    """

    target: WaitTarget
    offers: tuple[NodeOffer, ...]
    best: TriedMix | None
    neighbours: tuple[TriedMix, ...] = ()
    #: the cheapest mix of every setting that was tried
    by_scenario: tuple[TriedMix, ...] = ()
    replays: int = 0
    holds_on: int | None = None
    drawn: int = 0
    why_not: str = ""
    notes: tuple[str, ...] = ()

    def named(self, mix: Mix) -> str:
        """Return a mix in words, such as ``3 x a100 + 1 x t4``."""
        parts = [f"{n} x {one.name}" for n, one in zip(mix, self.offers, strict=True) if n]
        return " + ".join(parts) or "nothing"


def read_offers(path: str | Path, prices: Prices | None = None) -> list[NodeOffer]:
    """Read kinds of nodes from a CSV file; a price per hour comes from it or from the prices."""
    source = Path(path)
    try:
        table = pd.read_csv(source)
    except FileNotFoundError as cause:
        raise MissingFileError(f"{source}: there is no such table of nodes. {_FORM}") from cause
    except (OSError, UnicodeDecodeError, ValueError) as cause:
        raise FormatError(f"{source}: cannot be read as CSV. {_FORM}") from cause
    if table.empty or not {"gpus", "cpu_cores"} & set(table):
        raise FormatError(f"{source}: names no nodes with gpus or cpu_cores. {_FORM}")
    offers = []
    for number, row in enumerate(table.to_dict("records"), start=2):
        known = {str(name): value for name, value in row.items() if not pd.isna(value)}
        offers.append(_offer(known, prices, f"{source} line {number}"))
    names = [offer.name for offer in offers]
    for name in names:
        if names.count(name) > 1:
            raise FormatError(f"{source}: two rows are called {name!r}. Give each a name.")
    return offers


def _offer(row: Mapping[str, object], prices: Prices | None, where: str) -> NodeOffer:
    for name in (*_AMOUNTS, "price_per_hour", "most"):
        value = row.get(name, 0)
        good = isinstance(value, int | float) and math.isfinite(value) and value >= 0
        if not good or (name in ("gpus", "most") and value != int(float(str(value)))):
            raise FormatError(f"{where}: {name} is {value!r}, but is a number from 0 up. {_FORM}")
    node = {name: row[name] for name in (*_AMOUNTS, "gpu_type", "features") if name in row}
    gpus, kind = int(float(str(row.get("gpus", 0)))), str(row.get("gpu_type", ""))
    name = str(row.get("name") or f"{gpus}x{kind or 'GPU'}" if gpus else row.get("name") or "CPU")
    most = int(float(str(row.get("most", _MOST))))
    if "price_per_hour" in row:
        return NodeOffer(name, node, float(str(row["price_per_hour"])), most)
    if prices is None:
        raise InputError(
            f"{where}: has no price_per_hour, and no price file says what its GPUs and cores cost. "
            "Add the column, or --prices prices.toml."
        )
    alone = Cluster.from_nodes(pd.DataFrame([{"node_id": name, **node}]))
    return NodeOffer(name, node, cost_per_hour(alone, prices), most)


def cheapest_mix(
    scenarios: Sequence[WhatIfScenario],
    offers: Sequence[NodeOffer],
    target: WaitTarget,
    *,
    seeds: int = 10,
    progress: Callable[[str, float | None], None] = lambda step, percent: None,
) -> Purchase:
    """Return the cheapest nodes to add, over all scenarios, so that a target is reached.

    Parameters
    ----------
    scenarios : sequence of WhatIfScenario
        Today's cluster under one or several settings (order, sharing, sizing), which cost
        nothing; the first is today's and wins where costs are equal.
    offers : sequence of NodeOffer
        What can be bought.
    seeds : int, default=10
        Resampled traces on which the answer is tried once more; blocks hold the backlog.

    Examples
    --------
    >>> import numpy as np
    >>> from prophase.sim.whatif.smallest_cluster import parse_wait_target
    >>> jobs = pd.DataFrame({"submit_s": np.arange(600) * 600.0, "duration_s": 5000.0})
    >>> jobs["job_id"], jobs["request_gpus"] = jobs.index.astype(str), 1.0
    >>> now = WhatIfScenario("baseline", Workload.from_jobs(jobs), Cluster.parse("2x1"), {})
    >>> small, large = NodeOffer("small", {"gpus": 1}, 1.0), NodeOffer("large", {"gpus": 4}, 3.5)
    >>> found = cheapest_mix([now], [small, large], parse_wait_target("p95_wait<1min"))
    >>> found.named(found.best.mix), found.best.cost_per_hour
    ('3 x small + 1 x large', 6.5)
    >>> [one.reaches for one in found.neighbours]
    [False, False, True, True]
    """
    if not offers:
        raise ParameterError("there is nothing to buy: name at least one kind of node.")
    replays, best, by_scenario = 0, None, []
    searches = []
    for scenario in scenarios:
        bound = best.cost_per_hour if best is not None else math.inf
        search = _Search(scenario, tuple(offers), target, bound, progress)
        found = search.cheapest()
        replays += len(search.tried)
        searches.append(search)
        if found is not None:
            by_scenario.append(found)
            if best is None or found.cost_per_hour < best.cost_per_hour:
                best = found
    offered = tuple(offers)
    if best is None:
        return Purchase(
            target, offered, None, replays=replays, why_not=_why_not(searches[0], target)
        )
    search = next(one for one in searches if one.scenario.name == best.scenario)
    neighbours = search.neighbours(best.mix)
    now = search.scenario
    blocks = blocks_for(now.workload, now.cluster, now.policy)
    holds_on, drawn = None, 0
    notes = [f"{one.scenario.name}: {one.stopped}" for one in searches if one.stopped]
    if blocks.broken:
        notes.append(f"Not tried on other traces like this one: {blocks.broken}.")
    elif seeds:
        progress("trying the answer on resampled traces", None)
        ((_, draw),) = drawing([search.scenario], blocks)
        held = [
            search.value_s(best.mix, draw(seed, search.scenario.load), seed) < target.limit_s
            for seed in range(AS_RECORDED + 1, seeds + 1)
        ]
        holds_on, drawn = sum(held), len(held)
    return Purchase(
        target, offered, best, tuple(neighbours), tuple(by_scenario), replays, holds_on, drawn,
        notes=tuple(notes),
    )  # fmt: skip


@dataclass
class _Search:
    """Replays of one scenario with mixes of nodes; every mix once."""

    scenario: WhatIfScenario
    offers: tuple[NodeOffer, ...]
    target: WaitTarget
    #: dearer mixes cannot win
    bound: float
    progress: Callable[[str, float | None], None]
    tried: dict[Mix, TriedMix] = field(default_factory=dict)
    stopped: str = ""

    def cheapest(self) -> TriedMix | None:
        """Return the cheapest mix that reaches the target, None if none is below the bound."""
        best = self._cheapest_of_kinds()
        # packing has its whims: a neighbour with one node fewer may do where halving said no
        while best is not None:
            fewer = [one for one in self.neighbours(best.mix) if one.reaches]
            cheaper = [one for one in fewer if sum(one.mix) < sum(best.mix)]
            if not cheaper:
                return best
            best = min(cheaper, key=lambda one: one.cost_per_hour)
        return None

    def _cheapest_of_kinds(self) -> TriedMix | None:
        best: TriedMix | None = None
        # the kind with the most to halve goes last
        order = sorted(range(len(self.offers)), key=lambda n: -self.offers[n].price_per_hour)
        last = order[-1]
        alone = [self._fewest((0,) * len(self.offers), kind, math.inf) for kind in order]
        for found in alone:
            if found is not None and (best is None or found.cost_per_hour < best.cost_per_hour):
                best = found
        limit = min(self.bound, best.cost_per_hour if best else math.inf)
        ranges = [range(self._most(kind, limit) + 1) for kind in order[:-1]]
        if math.prod(len(one) for one in ranges) > _MOST_REPLAYS:
            self.stopped = (
                "too many mixes to try them all; kinds were tried alone only. Give offers a "
                "smaller number in the column most"
            )
            return best
        for counts in product(*ranges):
            if not any(counts):
                continue
            mix = [0] * len(self.offers)
            for kind, count in zip(order, counts, strict=False):
                mix[kind] = count
            if len(self.tried) > _MOST_REPLAYS:
                self.stopped = f"stopped after {_MOST_REPLAYS:,} replays; dearer mixes were left"
                break
            limit = min(self.bound, best.cost_per_hour if best else math.inf)
            found = self._fewest(tuple(mix), last, limit)
            if found is not None and (best is None or found.cost_per_hour < best.cost_per_hour):
                best = found
        return best

    def _most(self, kind: int, limit: float) -> int:
        offer = self.offers[kind]
        if not offer.price_per_hour or math.isinf(limit):
            return offer.most
        return min(offer.most, int(limit / offer.price_per_hour))

    def _fewest(self, mix: Mix, kind: int, limit: float) -> TriedMix | None:
        """Return the fewest of a kind beside others that reach the target below a cost."""
        rest = limit - self.cost(mix)
        if rest <= 0:
            return None
        low, high, most = -1, 0, self._most(kind, rest)
        while not self.of(_with(mix, kind, high)).reaches:
            if high >= most:
                return None
            low, high = high, min(most, max(1, 2 * high))
        while high - low > 1:
            middle = (low + high) // 2
            if self.of(_with(mix, kind, middle)).reaches:
                high = middle
            else:
                low = middle
        found = self.of(_with(mix, kind, high))
        return found if found.cost_per_hour < limit else None

    def neighbours(self, mix: Mix) -> list[TriedMix]:
        """Return the mixes with one node fewer of each kind, then with one more."""
        fewer = [_with(mix, kind, count - 1) for kind, count in enumerate(mix) if count]
        more = [_with(mix, kind, count + 1) for kind, count in enumerate(mix)]
        return [self.of(one) for one in (*fewer, *more)]

    def of(self, mix: Mix) -> TriedMix:
        """Return what a mix does on the trace as recorded."""
        if mix not in self.tried:
            workload = self.scenario.workload
            value_s = self.value_s(mix, workload, AS_RECORDED)
            reaches = value_s < self.target.limit_s
            self.tried[mix] = TriedMix(
                self.scenario.name, mix, self.cost(mix), value_s, reaches
            )  # fmt: skip
            self.progress(f"{self.scenario.name}: {len(self.tried)} mixes replayed", None)
        return self.tried[mix]

    def cost(self, mix: Mix) -> float:
        """Return what a mix costs per hour."""
        prices = [offer.price_per_hour for offer in self.offers]
        return float(sum(n * price for n, price in zip(mix, prices, strict=True)))

    def cluster(self, mix: Mix) -> Cluster:
        """Return today's cluster and what is bought."""
        rows = [
            {"node_id": f"{offer.name}-{number}", **offer.node}
            for offer, count in zip(self.offers, mix, strict=True)
            for number in range(count)
        ]
        if not rows:
            return self.scenario.cluster
        return Cluster.from_nodes(
            pd.concat([self.scenario.cluster.nodes, pd.DataFrame(rows)], ignore_index=True)
        )

    def value_s(self, mix: Mix, workload: Workload, seed: int) -> float:
        """Return what the target speaks of, on some jobs."""
        cluster = self.cluster(mix)
        if unfit_jobs(highest_of(workload, self.scenario.policy), cluster).any():
            return math.inf
        schedule = simulate(workload, cluster, seed=seed, **self.scenario.policy)
        return self.target.value_s(schedule)


def _with(mix: Mix, kind: int, count: int) -> Mix:
    return (*mix[:kind], count, *mix[kind + 1 :])


def _why_not(search: _Search, target: WaitTarget) -> str:
    """Say why nothing that is offered reaches the target."""
    full = tuple(offer.most for offer in search.offers)
    workload = search.scenario.workload
    unfit = unfit_jobs(highest_of(workload, search.scenario.policy), search.cluster(full))
    if unfit.any():
        first = workload.jobs.loc[unfit, "job_id"].iloc[0]
        return (
            f"{int(unfit.sum()):,} jobs, such as {first}, fit neither on today's nodes nor on any "
            "that is offered. Offer larger nodes or other GPU types, or --leave-out-unfit"
        )
    alone = target.statistic(workload.duration_s)
    if target.of == "jct" and alone >= target.limit_s:
        return (
            f"the run times alone give {units.duration(alone)}, so no node shortens it below "
            f"{units.duration(target.limit_s)}. Ask for more, or for a target of waits"
        )
    value = units.duration(search.of(full).value_s)
    most = [f"{offer.most:,} x {offer.name}" for offer in search.offers if offer.most]
    if not most:
        return (
            f"none can be had (most is 0 for every kind), and today's nodes give {value}. Offer "
            "nodes (column most), or ask for a longer time"
        )
    return (
        f"with {' + '.join(most)} it is {value}. Offer more nodes (column most), nodes that "
        "the waiting jobs can use, or ask for a longer time"
    )


def purchase_result(found: Purchase, currency: str = "", **values: object) -> Result:
    """Return the answer to what to buy, as a result."""
    money = f" {currency}" if currency else ""

    def row(one: TriedMix) -> dict[str, object]:
        return {
            "buy": found.named(one.mix),
            "setting": "as today" if one.scenario == "baseline" else one.scenario,
            "cost_per_hour": one.cost_per_hour,
            "cost_per_month": one.cost_per_hour * MONTH_S / 3600,
            "reached": units.duration(one.value_s) if math.isfinite(one.value_s) else "unfit jobs",
            "value_s": one.value_s,
            "holds": "yes" if one.reaches else "no",
        }

    best = found.best
    if best is None:
        said = [f"Nothing that is offered reaches {found.target.text}: {found.why_not}."]
        return Result(
            "purchase", answer=said[0], tone="bad", notes=said,
            values={**values, "target": found.target.text, "best": None,
                    "why_not": found.why_not},
        )  # fmt: skip
    month = best.cost_per_hour * MONTH_S / 3600
    misses = all(not one.reaches for one in found.neighbours if sum(one.mix) < sum(best.mix))
    setting = "" if best.scenario == "baseline" else f" with {best.scenario}"
    proof = "Proven at the neighbours: every mix with one node fewer misses it."
    if not sum(best.mix):
        proof = "Today's nodes are enough, so there is nothing to buy for it."
    elif not misses:
        proof = "Not proven: a mix with one node fewer reaches it as well."
    said = [
        f"Buy {found.named(best.mix)}{setting}: {month:,.0f}{money} a month, and "
        f"{found.target.text} is reached with {units.duration(best.value_s)}.",
        proof,
    ]
    whims = [one for one in found.neighbours if sum(one.mix) > sum(best.mix) and not one.reaches]
    if whims:
        said.append(
            f"With one node more it is missed ({found.named(whims[0].mix)}): packing has its "
            "whims, so plan for a reserve."
        )
    if found.holds_on is not None:
        said.append(f"It holds on {found.holds_on} of {found.drawn} resampled traces.")
    said += [*found.notes, f"{found.replays:,} mixes were replayed on the trace as recorded."]
    rows, tried = [row(best), *map(row, found.neighbours)], list(map(row, found.by_scenario))
    hidden = ("value_s",)
    tables = [
        Table("purchase", [_without(one, hidden) for one in rows], "The answer and its neighbours")
    ]
    if len(tried) > 1:
        shown = [_without(one, hidden) for one in tried]
        tables.append(Table("settings", shown, "Cheapest found under each setting"))
    return Result(
        "purchase",
        answer=said[0],
        tone="good",
        tables=tables,
        records=finite(rows),
        notes=said,
        values=finite(
            {
                **values,
                "target": found.target.text,
                "currency": currency,
                "best": {**row(best), "mix": _counts(found, best.mix)},
                "neighbours": [
                    {**row(one), "mix": _counts(found, one.mix)} for one in found.neighbours
                ],
                "by_setting": tried,
                "proven": misses,
                "holds_on": found.holds_on,
                "resampled_traces": found.drawn,
                "replays": found.replays,
                "remarks": said,
            }
        ),
    )


def _counts(found: Purchase, mix: Mix) -> dict[str, int]:
    return {offer.name: count for offer, count in zip(found.offers, mix, strict=True)}


def _without(row: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}
