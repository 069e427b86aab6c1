"""Scenarios: the baseline, and what would be different in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from prophase.errors import ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.cluster_variants import add_nodes, remove_nodes
from prophase.sim.pairing import Pairing
from prophase.sim.request_variants import Sizing, highest_of, whole_gpus, with_requests
from prophase.sim.rules.node_availability import Autoscaler
from prophase.sim.sweep.dry_run import unfit_jobs
from prophase.sim.workload import Workload

BASELINE = "baseline"
REACTIVE, PREDICTIVE = "scaling reactive", "scaling predictive"


@dataclass(frozen=True)
class WhatIfScenario:
    """Jobs, nodes, policy and load of one row of the answer."""

    name: str
    workload: Workload
    cluster: Cluster
    policy: Mapping[str, Any]
    load: float = 1.0


@dataclass(frozen=True)
class WhatIfQuestion:
    """What should be tried, each on its own against the baseline.

    Attributes
    ----------
    add, remove : sequence of str
        Nodes, as ``parse_nodes`` reads them; one scenario each.
    loads : sequence of float
        Jobs per day against the trace.
    policies : sequence of str
        ``order``, ``order:place`` or ``order:place:queue``.
    sharing : bool, optional
        True: the baseline gives whole GPUs only, the scenario the shares that jobs ask for.
        False: the other way round.
    requests : DataFrame, optional
        Requests that replace those of the trace; see ``with_requests``.
    sizings : mapping
        Name -> the same jobs with other requests and how they ask again after a kill.
    pairing : Pairing, optional
        Jobs that share GPUs in pairs, as ``pair_jobs`` chooses them.
    scaling : Autoscaler, optional
        The nodes come and go instead of being on all the time: once as waiting jobs need them, once
        also ahead of jobs that are forecast.
    combine : bool
        One more scenario with everything at once; pairs and scaling are not in it.
    """

    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    loads: Sequence[float] = ()
    policies: Sequence[str] = ()
    sharing: bool | None = None
    requests: pd.DataFrame | None = None
    requests_name: str = "requests"
    sizings: Mapping[str, Sizing] = field(default_factory=dict)
    pairing: Pairing | None = None
    scaling: Autoscaler | None = None
    combine: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare with the baseline."""
        lists = (self.add, self.remove, self.loads, self.policies, self.sizings)
        single = (self.sharing, self.requests, self.pairing, self.scaling)
        return not any(lists) and all(one is None for one in single)


def scenarios_of(
    question: WhatIfQuestion, workload: Workload, cluster: Cluster, policy: Mapping[str, Any]
) -> tuple[list[WhatIfScenario], list[str]]:
    """Return the baseline and one scenario per option, and remarks on what was assumed.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [1.0]})
    >>> asked = WhatIfQuestion(add=["2x8"], loads=[1.3], combine=True)
    >>> cluster = Cluster.parse("4x8")
    >>> found, _ = scenarios_of(asked, Workload.from_jobs(jobs), cluster, {"order": "fifo"})
    >>> [one.name for one in found], found[-1].cluster.gpus, found[-1].load
    (['baseline', 'add 2x8', 'load x 1.3', 'all together'], 48, 1.3)
    """
    remarks: list[str] = []
    given = workload
    if question.sharing is not None:
        whole, shared = whole_gpus(workload)
        if not shared:
            remarks.append("No job asks for a share of a GPU, so sharing changes nothing.")
        workload = whole if question.sharing else workload
    start = WhatIfScenario(BASELINE, workload, cluster, policy)
    found = [start]
    for text in question.add:
        larger, assumed = add_nodes(cluster, text)
        remarks += assumed
        found.append(replace(start, name=f"add {text}", cluster=larger))
    for text in question.remove:
        smaller = remove_nodes(cluster, text)
        found.append(replace(start, name=f"remove {text}", cluster=smaller))
    for load in question.loads:
        if not load > 0:
            raise ParameterError(f"load is {load}, but is a number above 0, such as 1.3.")
        found.append(replace(start, name=f"load x {load:g}", load=load))
    for text in question.policies:
        found.append(replace(start, name=f"policy {text}", policy={**policy, **policy_of(text)}))
    if question.sharing is not None:
        word = "on" if question.sharing else "off"
        other = given if question.sharing else whole_gpus(given)[0]
        found.append(replace(start, name=f"sharing {word}", workload=other))
    if question.requests is not None:
        name = question.requests_name
        advised, said = with_requests(start.workload, question.requests, name=name)
        if question.sharing:
            advised = whole_gpus(advised)[0]
        remarks += said
        found.append(replace(start, name=f"requests {name}", workload=advised))
    for name, one in question.sizings.items():
        sized = whole_gpus(one.workload)[0] if question.sharing else one.workload
        found.append(
            replace(start, name=f"sizing {name}", workload=sized, policy=_climbing(policy, one))
        )
    if question.pairing is not None:
        pairs = question.pairing
        remarks += pairs.remarks
        together = {**policy, "share": pairs.sharing}
        found.append(replace(start, name="pairs", workload=pairs.workload, policy=together))
    if question.scaling is not None:
        if policy.get("scaling") is not None:
            raise ParameterError("scaling is compared with nodes that are always on: name it once.")
        for name, ahead in ((REACTIVE, False), (PREDICTIVE, True)):
            rule = replace(question.scaling, ahead=ahead)
            found.append(replace(start, name=name, policy={**policy, "scaling": rule}))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{name!r} is asked twice.")
    if question.combine:
        found.append(_together(question, given, start))
    return found, remarks


def settings_of(
    question: WhatIfQuestion,
    workload: Workload,
    cluster: Cluster,
    policy: Mapping[str, Any],
    *,
    leave_out_unfit: bool = False,
) -> tuple[list[WhatIfScenario], list[str]]:
    """Return today and the settings that cost nothing: policies, sharing, requests, sizings.

    Each is a start for what to buy; nodes and loads have no place beside offers. Jobs that no node
    of today can run may be what is bought for, unless they are to be left out.
    """
    if question.add or question.remove or question.loads or question.combine:
        raise ParameterError(
            "nodes to buy are chosen from the offers: leave out --add, --remove, --load and "
            "--combine, or ask without --options."
        )
    if leave_out_unfit:
        unfit = unfit_jobs(highest_of(workload, policy), cluster)
        workload = workload.without(unfit, "fit on no node of the cluster")
    return scenarios_of(question, workload, cluster, policy)


def policy_of(text: str) -> dict[str, str]:
    """Read ``order[:place[:queue]]``; an order may be ``column:NAME``.

    Examples
    --------
    >>> policy_of("column:guess_s:fgd")
    {'order': 'column:guess_s', 'place': 'fgd'}
    """
    parts = [part.strip() for part in text.split(":")]
    if parts[0] == "column":
        parts[:2] = [":".join(parts[:2])]
    if len(parts) > 3 or not all(parts) or parts[0] == "column":
        raise ParameterError(
            f"policy {text!r} is not understood. Write order, order:place or order:place:queue, "
            "such as shortest:fgd:skip."
        )
    return dict(zip(("order", "place", "queue"), parts, strict=False))


def _climbing(policy: Mapping[str, Any], sizing: Sizing) -> dict[str, Any]:
    return {**policy, "ladder": sizing.ladder} if sizing.ladder is not None else dict(policy)


def _together(question: WhatIfQuestion, given: Workload, start: WhatIfScenario) -> WhatIfScenario:
    sizings = list(question.sizings.values())
    if sizings and question.requests is not None:
        raise ParameterError("everything together has room for --requests or --sizing, not both.")
    for what, values in (
        ("load", question.loads),
        ("policy", question.policies),
        ("sizing", sizings),
    ):
        if len(values) > 1:
            raise ParameterError(
                f"everything together has room for one {what}, not for {len(values)}. Ask for "
                "one, or leave out --combine."
            )
    cluster, workload = start.cluster, start.workload
    for text in question.remove:
        cluster = remove_nodes(cluster, text)
    for text in question.add:
        cluster = add_nodes(cluster, text)[0]
    if sizings:
        given = sizings[0].workload
        workload = given
    if question.sharing is not None:
        workload = given if question.sharing else whole_gpus(given)[0]
    if question.requests is not None:
        workload = with_requests(workload, question.requests)[0]
        if question.sharing is False:
            workload = whole_gpus(workload)[0]
    policy = {**start.policy, **(policy_of(question.policies[0]) if question.policies else {})}
    policy = _climbing(policy, sizings[0]) if sizings else policy
    load = question.loads[0] if question.loads else start.load
    return WhatIfScenario("all together", workload, cluster, policy, load)
