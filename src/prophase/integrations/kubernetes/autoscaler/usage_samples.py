"""The use of running pods, from Prometheus, as the runs that a policy decides by."""

from __future__ import annotations

import math
from collections.abc import Mapping

from prophase.autoscale.live_decision import Samples
from prophase.autoscale.recommendation_result import current_runs
from prophase.autoscale.saved_policy import SavedPolicy
from prophase.errors import ParameterError
from prophase.integrations.prometheus.usage import usage_from_prometheus

#: PromQL of what cAdvisor measures; {namespace} is filled in
_QUERIES = {
    "memory_gib": 'sum by (pod) (container_memory_working_set_bytes{namespace="%s",'
    'container!="",container!="POD"}) / 2^30',
    "cpu_cores": 'sum by (pod) (rate(container_cpu_usage_seconds_total{namespace="%s",'
    'container!="",container!="POD"}[2m]))',
}


class PrometheusSamples:
    """Asks a Prometheus server for the runs of a namespace's pods.

    Parameters
    ----------
    queries : mapping, optional
        Metric -> PromQL with a label ``pod``, in place of what cAdvisor measures.
    history_s : float, default=604800
        How far back a run is looked at.
    """

    def __init__(
        self,
        url: str,
        namespace: str,
        policy: SavedPolicy,
        queries: Mapping[str, str] | None = None,
        *,
        history_s: float = 7 * 86_400.0,
    ) -> None:
        self.url, self.policy, self.history_s = url, policy, history_s
        usual = {name: text % namespace for name, text in _QUERIES.items()}
        known = {**usual, **(queries or {})}
        needed = (policy.metric, *(policy.labeller.metrics if policy.labeller else ()))
        for name in needed:
            if name not in known:
                raise ParameterError(
                    f"no query is known for {name}, which the policy looks at. Give one: "
                    f"--query {name}=PROMQL."
                )
        self.queries = {name: known[name] for name in (policy.metric, *policy.others)
                        if name in known}  # fmt: skip

    def runs(self, starts_s: Mapping[str, float], now_s: float) -> dict[str, Samples]:
        """Return the current run of each pod; pods without samples are left out."""
        if not starts_s:
            return {}
        step_s = self.policy.step_s
        end_s = math.floor(now_s / step_s) * step_s
        begin_s = max(min(starts_s.values()), now_s - self.history_s)
        usage = usage_from_prometheus(
            self.url,
            self.queries,
            start_s=math.ceil(begin_s / step_s) * step_s,
            end_s=end_s,
            step_s=step_s,
        )
        usage = usage[usage["series_id"].isin(list(starts_s))]
        # a pod of the same name may have run before
        begun = usage["series_id"].map(starts_s)
        return current_runs(usage[usage["time_s"] >= begun], self.policy)
