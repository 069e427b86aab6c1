"""A slow, obvious twin of allocation over time: one run, one decision, one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def replayed(
    runs: Sequence[Sequence[float]],
    want: Callable[[Sequence[float]], float],
    *,
    every: int,
    up: float = 0.0,
    down: float = 0.0,
) -> dict[str, float]:
    """Replay runs under a rule that sees the past only, and count what happens."""
    given_sum = use_sum = unmet = 0.0
    samples = above = episodes = kills = resizes = 0
    for run in runs:
        current = want([])
        was_above = False
        for start in range(0, len(run), every):
            if start > 0:
                wanted = want(run[:start])
                near = current * (1 - down) <= wanted <= current * (1 + up)
                if not near and wanted != current:
                    current = wanted
                    resizes += 1
            killed = False
            for use in run[start : start + every]:
                samples += 1
                given_sum += current
                use_sum += use
                is_above = use > current
                above += is_above
                unmet += use - current if is_above else 0.0
                episodes += is_above and not was_above
                killed = killed or is_above
                was_above = is_above
            kills += killed
    return {
        "allocation_over_usage": given_sum / use_sum,
        "satisfied_pct": 100 * (1 - above / samples),
        "violation_episodes": episodes,
        "oom_events": kills,
        "unmet_pct": 100 * unmet / use_sum,
        "resizes_per_1000": 1000 * resizes / samples,
    }
