"""Findings that come from replaying a trace: published numbers, and the command for ours."""

from __future__ import annotations

from prophase.papers.findings.finding import PublishedFinding, published_only
from prophase.trace.trace_tables import Trace


def shortest_first(trace: Trace) -> PublishedFinding:
    """Point to the replay that compares shortest-first with first come, first served."""
    return PublishedFinding(
        "shortest_first",
        "Shortest job first with predicted run times",
        (
            published_only(
                "mean completion time saved against first come, first served",
                "%",
                (63.0, 77.0),
                "needs: prophase simulate PATH --order shortest, and --order fifo",
            ),
        ),
        "--order shortest knows the true run times: the most that any prediction can save.",
    )


def reserve_and_pack(trace: Trace) -> PublishedFinding:
    """Name what keeping high-end GPUs for those who need them saves."""
    reason = "needs: a replay with reserving and packing beside one with load balancing"
    return PublishedFinding(
        "reserve_and_pack",
        "Reserving and packing before load balancing",
        (
            published_only("mean wait saved", "%", (45.0,), reason),
            published_only("mean wait for V100 saved", "%", (68.0,), reason),
        ),
    )


def pai_simulator(trace: Trace) -> PublishedFinding:
    """Point to the preset that reproduces the study's own simulator."""
    orders = (
        ("fifo", "first come, first served", 7918.0, 2880.0),
        ("shortest", "shortest first, true run times", 5989.0, 950.0),
        ("group_gpu_dur", "shortest first, by group and GPU", 6002.0, 963.0),
        ("group_dur", "shortest first, by group", 6071.0, 1032.0),
        ("user_dur", "shortest first, by user", 6278.0, 1240.0),
    )
    command = "needs: prophase simulate PATH --preset pai --pai-arrival-rate 1000 --order"
    figures = [
        published_only(f"mean {what}, {words}", "s", (number,), f"{command} {order}")
        for order, words, completion, wait in orders
        for what, number in (("completion time", completion), ("wait", wait))
    ]
    return PublishedFinding(
        "pai_simulator",
        "The study's own simulator",
        tuple(figures),
        "Published for 20,000 jobs of its 100,000-job list on 6,500 GPUs at 1,000 arrivals per "
        "minute.",
    )
