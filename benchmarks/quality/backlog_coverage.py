"""How often do the intervals of `whatif` hold the truth where backlogs last for days?

Traces are invented, so the truth is known: a cluster of four nodes with one GPU each, jobs of
exponential length that arrive at random at a load that changes from day to day. The rule for the
length of blocks was chosen on four kinds:

- `calm`: every day the same load of 0.7, 28 days
- `fading`: busy days are followed by busy days (correlation 0.8) around 0.88, 60 days
- `slow`: the same with a correlation of 0.93, 90 days: busy spells of a fortnight
- `overload`: a load of 1.15 on average, 30 days: the backlog only grows

and is judged on others:

- `short`: 30 days of `slow`, about one independent spell
- `weeks`: each week has a load of its own around 0.8, some far above 1, 84 days
- `spells`: days of a load of 0.6, and busy spells of 1.25 that last for six days in the mean, 75
  days
- `deadlines`: load climbs to a deadline for 5 to 11 days and falls at once, 80 days
- `season`: load rises and falls with a period of 12 to 30 days, 72 days
- `workweek`: five days of a load of 1.05 and two of 0.35, weeks differ by 15 %, 56 days
- `jumps`: load stays for eight days in the mean, then jumps, 70 days

Changes: one more node, and 20 % more jobs. The truth is the change of the mean wait of all such
traces in percent of what they wait now, from many independent ones. `compare_scenarios`, what
`prophase whatif` calls, sees one trace at a time, chooses the blocks itself and gives the change as
recorded with its 95 % interval, or none.

One row per kind and change: how many of the given intervals hold the truth (asked are 90 to 98 %);
beside it how many traces got none, and how long the chosen blocks were.

    python benchmarks/quality/backlog_coverage.py [HISTORIES [KIND ...]]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.whatif.comparison import ScenarioComparison, compare_scenarios
from prophase.sim.whatif.scenarios import WhatIfScenario
from record import Measurement, record

DAY_S, RUN_S, SERVERS = 86_400.0, 8_640.0, 4
HISTORIES = 150
#: traces behind each truth
TRUTH = 1000
NOW, MORE = Cluster.parse(f"{SERVERS}x1"), Cluster.parse(f"{SERVERS + 1}x1")
CHANGES = ("add", "load")


def daily_load(kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the load of each day, 1 being all that the cluster can do."""
    if kind == "calm":
        return np.full(28, 0.7)
    if kind == "weeks":
        return 0.8 * np.repeat(rng.lognormal(-0.045, 0.3, 12), 7)
    if kind == "overload":
        return 1.15 * rng.lognormal(-0.045, 0.3, 30)
    if kind == "spells":
        busy, load = rng.random() < 0.4, np.empty(75)
        for day in range(75):
            load[day] = 1.25 if busy else 0.6
            busy ^= rng.random() < (1 / 6 if busy else 1 / 9)
        return load * rng.lognormal(-0.005, 0.1, 75)
    if kind in MORE_KINDS:
        return MORE_KINDS[kind](rng)
    memory, days = (0.8, 60) if kind == "fading" else (0.93, 30 if kind == "short" else 90)
    state = np.empty(days)
    state[0] = rng.normal()
    for day in range(1, days):
        state[day] = memory * state[day - 1] + np.sqrt(1 - memory**2) * rng.normal()
    return 0.88 * np.exp(0.25 * state - 0.03)


def deadlines(rng: np.random.Generator) -> NDArray[np.float64]:
    load, due = np.full(80, 0.62), rng.exponential(9)
    while due < 80:
        left, climb = np.arange(80) - due, rng.uniform(5, 11)
        high = rng.uniform(0.5, 1.2)
        load += np.where((left >= -climb) & (left <= 0), high * (1 + left / climb), 0)
        due += rng.uniform(8, 24)
    return load


def season(rng: np.random.Generator) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(72) / rng.uniform(12, 30) + rng.uniform(0, 2 * np.pi)
    return 0.85 * (1 + 0.35 * np.sin(angle)) * rng.lognormal(-0.02, 0.2, 72)


def workweek(rng: np.random.Generator) -> NDArray[np.float64]:
    days = np.where(np.arange(56) % 7 < 5, 1.05, 0.35)
    return days * np.repeat(rng.lognormal(-0.01, 0.15, 8), 7)


def jumps(rng: np.random.Generator) -> NDArray[np.float64]:
    load: list[float] = []
    while len(load) < 70:
        load += [0.85 * rng.lognormal(-0.04, 0.28)] * int(1 + rng.geometric(1 / 8))
    return np.array(load[:70]) * rng.lognormal(-0.005, 0.1, 70)


MORE_KINDS = {"deadlines": deadlines, "season": season, "workweek": workweek, "jumps": jumps}
CHOSEN_ON = ("calm", "fading", "slow", "overload")
KINDS = (*CHOSEN_ON, "short", "weeks", "spells", *MORE_KINDS)


def invented(kind: str, rng: np.random.Generator, more: float = 1.0) -> Workload:
    """Return a trace; ``more`` jobs than usual for the truth of a higher load."""
    load = more * daily_load(kind, rng)
    jobs = rng.poisson(load * SERVERS * DAY_S / RUN_S)
    submit = np.repeat(np.arange(len(load)) * DAY_S, jobs) + DAY_S * rng.random(jobs.sum())
    table = pd.DataFrame({"submit_s": np.sort(submit), "request_gpus": 1.0})
    table["duration_s"] = rng.exponential(RUN_S, len(table))
    return Workload.from_jobs(table.assign(job_id=table.index.astype(str)))


def truth_of(kind: str) -> dict[str, float]:
    """Return each change in percent of the mean wait, over all traces of a kind."""
    now, more, load = [], [], []
    for number in range(TRUTH):
        trace = invented(kind, np.random.default_rng([1, number]))
        now.append(simulate(trace, NOW).wait_s.mean())
        more.append(simulate(trace, MORE).wait_s.mean())
        # the same trace with more jobs, as `whatif --load` would find it in the long run
        busier = invented(kind, np.random.default_rng([1, number]), 1.2)
        load.append(simulate(busier, NOW).wait_s.mean())
    whole = float(np.mean(now))
    return {"add": 100 * (np.mean(more) / whole - 1), "load": 100 * (np.mean(load) / whole - 1)}


def held(found: ScenarioComparison, truth: dict[str, float]) -> dict[str, bool | None]:
    """Say for each change whether its interval holds the truth; None where there is none."""
    rows = found.ranked().set_index("scenario")
    before = float(rows.loc["baseline", "mean_wait_s"])
    ends = {name: (rows.loc[name, "change_low"], rows.loc[name, "change_high"]) for name in truth}
    return {
        name: None if pd.isna(low) else bool(low <= truth[name] / 100 * before <= high)
        for name, (low, high) in ends.items()
    }


def measure(kind: str, histories: int) -> None:
    truth = truth_of(kind)
    chosen: list[dict[str, bool | None]] = []
    lengths = []
    for number in range(histories):
        trace = invented(kind, np.random.default_rng([2, number]))
        scenarios = [
            WhatIfScenario("baseline", trace, NOW, {}),
            WhatIfScenario("add", trace, MORE, {}),
            WhatIfScenario("load", trace, NOW, {}, 1.2),
        ]
        found = compare_scenarios(scenarios)
        lengths.append(found.drawn.run)
        chosen.append(held(found, truth))
    for change in CHANGES:
        known = [one[change] for one in chosen if one[change] is not None]
        record(
            Measurement(
                f"coverage of the 95 % interval of what-if under backlog, {kind}, {change}",
                "%",
                [round(100 * float(np.mean(known)), 1) if known else float("nan")],
                data=f"{histories} invented traces, truth {truth[change]:+.1f} %",
                remark=f"the rule was {'chosen on' if kind in CHOSEN_ON else 'not chosen on'} this "
                f"kind; no interval for {histories - len(known)} of {histories}; blocks of "
                f"{np.percentile(lengths, 10):.0f} to {np.percentile(lengths, 90):.0f} days",
            )
        )


def main() -> None:
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else HISTORIES
    for kind in sys.argv[2:] or KINDS:
        measure(kind, histories)


if __name__ == "__main__":
    main()
