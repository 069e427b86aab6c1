"""Every published finding, computed for a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prophase.errors import ParameterError, not_among
from prophase.papers.findings import gpu_sharing as sharing
from prophase.papers.findings import node_allocation as machines
from prophase.papers.findings import recurring_jobs as recurring
from prophase.papers.findings import scale_and_requests as scale
from prophase.papers.findings import waiting_times as waits
from prophase.papers.findings.finding import PublishedFinding, published_only
from prophase.trace.trace_tables import Trace

#: the study the published numbers come from
STUDY = 'Weng et al., "MLaaS in the Wild", NSDI 2022: Alibaba PAI, July and August 2020'


# Findings that come from replaying a trace: published numbers, and the command for ours.


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


#: name -> what computes it, in the order of the report
FINDINGS: dict[str, Callable[[Trace], PublishedFinding]] = {
    "scale": scale.scale,
    "gangs": scale.gangs,
    "mostly_waiting": waits.mostly_waiting,
    "sharing_waits": waits.sharing_waits,
    "waits_by_type": waits.waits_by_type,
    "large_requests": scale.large_requests,
    "median_gpu": scale.median_gpu,
    "over_asked": scale.over_asked,
    "sharing_saves": sharing.sharing_saves,
    "sharing_costs": sharing.sharing_costs,
    "recurring": recurring.recurring,
    "cpu_per_gpu": machines.cpu_per_gpu,
    "allocation": machines.allocation,
    "cpu_bottleneck": machines.cpu_bottleneck,
    "shortest_first": shortest_first,
    "reserve_and_pack": reserve_and_pack,
    "pai_simulator": pai_simulator,
}


def published_findings(trace: Trace, *, only: Sequence[str] = ()) -> tuple[PublishedFinding, ...]:
    """Return the published findings with the numbers of this trace.

    Parameters
    ----------
    only : sequence of str, optional
        Names of the findings wanted; all if not given.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "user": ["u", "u"], "instances": [1.0, 3.0]})
    >>> scale, gangs = published_findings(Trace({"jobs": jobs}, "csv", ""), only=["scale", "gangs"])
    >>> [figure.here_words for figure in scale.figures]
    ['not computable: table nodes missing', 'not computable: table nodes missing', '2', '4', '1']
    >>> gangs.figures[0].here, gangs.figures[0].published
    (75.0, (85.0,))
    """
    for name in only:
        if name not in FINDINGS:
            raise ParameterError(not_among(f"finding {name!r} is unknown.", name, FINDINGS))
    return tuple(compute(trace) for name, compute in FINDINGS.items() if not only or name in only)
