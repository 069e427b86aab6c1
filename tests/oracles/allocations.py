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
    hold: int | None = None,
    restart: int = 1,
    checkpoint: int = 60,
) -> dict[str, float]:
    """Replay runs under a rule that sees the past only, and count what happens.

    With ``hold`` (samples) use above the allocation kills: the pod is down for ``restart`` samples,
    does the work since its checkpoint again and keeps 1.2 times the use, and 100 MiB more.
    """
    given_sum = use_sum = unmet = 0.0
    samples = above = episodes = kills = resizes = 0
    for run in runs:
        wanted_now = want([])
        was_above, shown, past = False, None, []
        least, least_until, down_until, alive_since = 0.0, 0, 0, 0
        for place, use in enumerate(run):
            if place and place % every == 0:
                wanted = want(run[:place])
                if not wanted_now * (1 - down) <= wanted <= wanted_now * (1 + up):
                    wanted_now = wanted
            if place % every == 0 and place >= least_until:
                least = 0.0
            current = max(wanted_now, least)
            resizes += shown is not None and shown != current
            shown = current
            samples += 1
            given_sum += current
            use_sum += use
            is_down = place < down_until
            unmet += max(use - current, 0.0)
            if hold is not None and use > current and not is_down:
                kills += 1
                given_sum += sum(past[len(past) - min(place - alive_since, checkpoint) :])
                least = max(1.2 * use, use + 100 / 1024, least)
                least_until = place + 1 + hold
                down_until = alive_since = place + 1 + restart
            past.append(current)
            is_above = use > current or is_down
            above += is_above
            episodes += is_above and not was_above
            was_above = is_above
    return {
        "allocation_over_usage": given_sum / use_sum,
        "satisfied_pct": 100 * (1 - above / samples),
        "violation_episodes": episodes,
        "oom_events": kills,
        "unmet_pct": 100 * unmet / use_sum,
        "resizes_per_1000": 1000 * resizes / samples,
    }
