"""The slow, obvious twins of the single-queue kernels."""

from __future__ import annotations


def kiefer_wolfowitz(submit: list[float], duration: list[float], servers: int) -> list[float]:
    """Return starts by the sorted vector of work left on each server (Kiefer, Wolfowitz 1955)."""
    left = [0.0] * servers
    starts, before = [], submit[0] if submit else 0.0
    for arrival, service in zip(submit, duration, strict=True):
        left = sorted(max(0.0, work - (arrival - before)) for work in left)
        starts.append(arrival + left[0])
        left[0] += service
        before = arrival
    return starts


def gangs_in_order(
    submit: list[float], duration: list[float], need: list[float], servers: float
) -> list[float]:
    """Return starts by trying every instant at which something could change."""
    starts: list[float] = []
    for job, arrival in enumerate(submit):
        earliest = max(arrival, starts[-1]) if starts else arrival
        ends = [starts[k] + duration[k] for k in range(job)]
        for now in sorted([earliest, *(end for end in ends if end > earliest)]):
            used = sum(need[k] for k in range(job) if ends[k] > now)
            if used + need[job] <= servers:
                starts.append(now)
                break
    return starts
