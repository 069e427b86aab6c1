"""Compute every published finding for a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prophase.errors import ParameterError, not_among
from prophase.papers.findings import gpu_sharing as sharing
from prophase.papers.findings import node_allocation as machines
from prophase.papers.findings import recurring_jobs as recurring
from prophase.papers.findings import replay_findings as replays
from prophase.papers.findings import scale_and_requests as requests
from prophase.papers.findings import scale_and_requests as scale
from prophase.papers.findings import waiting_times as waits
from prophase.papers.findings.finding import PublishedFinding
from prophase.trace.trace_tables import Trace

#: the study the published numbers come from
STUDY = 'Weng et al., "MLaaS in the Wild", NSDI 2022: Alibaba PAI, July and August 2020'
#: name -> what computes it, in the order of the report
FINDINGS: dict[str, Callable[[Trace], PublishedFinding]] = {
    "scale": scale.scale,
    "gangs": scale.gangs,
    "mostly_waiting": waits.mostly_waiting,
    "sharing_waits": waits.sharing_waits,
    "waits_by_type": waits.waits_by_type,
    "large_requests": requests.large_requests,
    "median_gpu": requests.median_gpu,
    "over_asked": requests.over_asked,
    "sharing_saves": sharing.sharing_saves,
    "sharing_costs": sharing.sharing_costs,
    "recurring": recurring.recurring,
    "cpu_per_gpu": machines.cpu_per_gpu,
    "allocation": machines.allocation,
    "cpu_bottleneck": machines.cpu_bottleneck,
    "shortest_first": replays.shortest_first,
    "reserve_and_pack": replays.reserve_and_pack,
    "pai_simulator": replays.pai_simulator,
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
