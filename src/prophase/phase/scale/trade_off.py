"""How allocation grows with the satisfaction that is asked for, policy by policy."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from prophase.phase.scale.comparing import Comparison
from prophase.phase.scale.measures import measure

TARGETS = (0.9, 0.95, 0.98, 0.99, 0.995)


def frontier(found: Comparison, targets: Sequence[float] = TARGETS) -> pd.DataFrame:
    """Return what each policy allocates and satisfies on the test series, target by target.

    The settings stay those chosen for the comparison's target; the dial is set anew on the fit
    series, with every fit series held out from what it is planned by.
    """
    rows = []
    for one in found.judged:
        tuned = one.tuned
        if not tuned.policy.tuned:
            rows.append({"policy": one.policy, "target_pct": None, **_point(one.measures.row())})
            continue
        plan = tuned.policy.plan(found.test)
        for target in targets:
            allocation = plan.allocate(tuned.dial_for(target), tuned.rule)
            measures = measure(found.test, allocation).row()
            rows.append({"policy": one.policy, "target_pct": 100 * target, **_point(measures)})
    return pd.DataFrame(rows)


def _point(measures: dict[str, float]) -> dict[str, float]:
    names = ("allocation_over_usage", "satisfied_pct", "resizes_per_1000")
    return {name: measures[name] for name in names}
