"""A recommender of Kubernetes' vertical pod autoscaler: for those who keep VPA's updater.

A VerticalPodAutoscaler that names ``prophase`` among its recommenders gets its recommendation from
a saved policy: what the neediest of its pods is given until the next decision. VPA's updater and
admission controller apply it as they apply their own. Nothing is written to pods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prophase import units
from prophase.autoscale.live_decision import LiveDecision, Samples, decide, rounded
from prophase.errors import ParameterError
from prophase.integrations.kubernetes.autoscaler.controller import (
    PodScaler,
    is_running,
    json_of,
    started_s,
)
from prophase.integrations.kubernetes.autoscaler.pod_view import (
    RESOURCES,
    pod_now,
    quantity,
    target_container,
)
from prophase.json_types import JsonMapping, JsonObject

_API = ("autoscaling.k8s.io", "v1")
_KIND = "verticalpodautoscalers"
#: more than this many times the target is worth a change by VPA's updater, which may restart pods
_WORTH_IT = 1.25
_NOT_FOUND = 404


@dataclass(frozen=True)
class VpaAnswer:
    """What a VerticalPodAutoscaler is told: an amount for a container, or why there is none."""

    name: str
    container: str = ""
    #: in the metric's unit
    wanted: float = math.nan
    target: float = math.nan
    reason: str = ""

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.target)


class VpaRecommender(PodScaler):
    """Writes the recommendations of VerticalPodAutoscalers; see `PodScaler` for the rest.

    Parameters
    ----------
    objects : CustomObjectsApi
        Of the official client.
    recommender : str, default="prophase"
        The name by which a VerticalPodAutoscaler asks for this recommender.
    """

    def __init__(
        self, api: Any, objects: Any, *given: Any, recommender: str = "prophase", **more: Any
    ) -> None:
        super().__init__(api, *given, **more)
        self._objects, self.recommender = objects, recommender

    def round(self, now_s: float) -> list[LiveDecision]:
        """Answer every VerticalPodAutoscaler of the namespace that asks us."""
        held = self._objects.list_namespaced_custom_object(*_API, self.namespace, _KIND)["items"]
        asked = [one for one in held if self._is_ours(one)]
        done: list[LiveDecision] = []
        seen = 0
        for one in asked:
            if not self.leads:
                break
            pods, why = self._pods_of(one)
            seen += len(pods)
            decisions = [] if why else self._decisions(pods, now_s)
            done += [decision for _, decision in decisions]
            self._answer(one, self._recommended(one, decisions, why))
        self.counters.pods = seen
        return done

    def _is_ours(self, vpa: JsonMapping) -> bool:
        named = [one.get("name") for one in vpa["spec"].get("recommenders") or ()]
        return self.recommender in named

    def _pods_of(self, vpa: JsonMapping) -> tuple[list[JsonObject], str]:
        """Return the running pods of a VerticalPodAutoscaler, or why they are not known."""
        from kubernetes.client import ApiException

        target = vpa["spec"]["targetRef"]
        group, _, version = str(target.get("apiVersion", "apps/v1")).partition("/")
        kind, name = str(target["kind"]), str(target["name"])
        try:
            found = self._objects.get_namespaced_custom_object(
                group, version, self.namespace, f"{kind.lower()}s", name
            )
        except ApiException as error:
            if error.status != _NOT_FOUND:
                raise
            return [], f"there is no {kind} {name}"
        labels = ((found.get("spec") or {}).get("selector") or {}).get("matchLabels")
        if not labels:
            return [], f"{kind} {name} does not select its pods by labels"
        listed = self._api.list_namespaced_pod(
            self.namespace,
            label_selector=",".join(f"{key}={value}" for key, value in labels.items()),
            _preload_content=False,
        )
        pods = [pod for pod in json_of(listed)["items"] if is_running(pod)]
        return pods, "" if pods else "no pod is running"

    def _decisions(self, pods: list[JsonObject], now_s: float) -> list[tuple[str, LiveDecision]]:
        """Return container and decision of each pod."""
        runs = self._samples.runs({p["metadata"]["name"]: started_s(p) for p in pods}, now_s)
        found = []
        for pod in pods:
            view, container = pod_now(pod, self.policy.metric), target_container(pod)
            if container is not None and view.name in runs:
                run = runs.get(view.name, Samples(now_s))
                decision = decide(self.policy, view, run, self.rules, now_s)
                found.append((str(container["name"]), decision))
        return found

    def _recommended(
        self, vpa: JsonMapping, decisions: list[tuple[str, LiveDecision]], why: str
    ) -> VpaAnswer:
        name, metric = str(vpa["metadata"]["name"]), self.policy.metric
        known = [one for one in decisions if one[1].outcome != "refused"]
        if not known:
            refused = [decision.reason for _, decision in decisions]
            return VpaAnswer(name, reason=why or next(iter(refused), "no samples yet"))
        container, first = max(known, key=lambda one: one[1].allocation)
        wanted = rounded(first.allocation, metric)
        least, most, mode = _policy_of(vpa, container, metric)
        if mode == "Off":
            return VpaAnswer(name, container, reason=f"container {container} has the mode Off")
        return VpaAnswer(name, container, wanted, min(max(wanted, least), most), first.reason)

    def _answer(self, vpa: JsonMapping, answer: VpaAnswer) -> None:
        """Write the status of a VerticalPodAutoscaler unless it says so already."""
        before = vpa.get("status") or {}
        status = _status(before, answer, self.policy.metric)
        outcome = "keep"
        if _without_times(status) != _without_times(before):
            outcome = "would-recommend" if self.dry_run else "recommend"
            if not self.dry_run:
                self._objects.patch_namespaced_custom_object_status(
                    *_API, self.namespace, _KIND, answer.name, {"status": status}
                )
                self.counters.resizes += answer.is_known
        self.counters.count(outcome)
        if outcome == "keep":
            return
        self._tell(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "namespace": self.namespace,
                "vpa": answer.name,
                "container": answer.container or None,
                "outcome": outcome,
                "to": answer.target if answer.is_known else None,
                "metric": self.policy.metric,
                "reason": answer.reason,
            }
        )


def _policy_of(vpa: JsonMapping, container: str, metric: str) -> tuple[float, float, str]:
    """Return the bounds that a VerticalPodAutoscaler has for a container, and its mode."""
    resource, unit = RESOURCES[metric]
    held = (vpa["spec"].get("resourcePolicy") or {}).get("containerPolicies") or ()
    by_name = {str(one.get("containerName", "*")): one for one in held}
    mine = by_name.get(container) or by_name.get("*") or {}

    def amount(part: str, usual: float) -> float:
        text = (mine.get(part) or {}).get(resource)
        try:
            return usual if text is None else units.parse_quantity(str(text)) / unit
        except ParameterError:
            return usual

    return amount("minAllowed", 0.0), amount("maxAllowed", math.inf), str(mine.get("mode", "Auto"))


def _status(before: JsonMapping, answer: VpaAnswer, metric: str) -> JsonObject:
    """Return the status: our resource of our container; what others wrote stays."""
    held = (before.get("recommendation") or {}).get("containerRecommendations") or ()
    recommendations = {str(one["containerName"]): dict(one) for one in held}
    if answer.is_known:
        resource, _ = RESOURCES[metric]
        mine = recommendations.setdefault(
            answer.container, {"containerName": answer.container, "target": {}}
        )
        for part, amount in (
            ("target", answer.target),
            ("lowerBound", answer.target),
            ("upperBound", rounded(_WORTH_IT * answer.target, metric)),
            ("uncappedTarget", answer.wanted),
        ):
            mine[part] = {**(mine.get(part) or {}), resource: quantity(amount, metric)}
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    condition = {
        "type": "RecommendationProvided",
        "status": "True" if answer.is_known else "False",
        "reason": "Prophase",
        "message": "" if answer.is_known else answer.reason,
        "lastTransitionTime": now,
    }
    others = [one for one in before.get("conditions") or () if one["type"] != condition["type"]]
    status: JsonObject = {"conditions": [*others, condition]}
    if recommendations:
        status["recommendation"] = {"containerRecommendations": list(recommendations.values())}
    return status


def _without_times(status: JsonMapping) -> JsonObject:
    conditions = [
        {key: value for key, value in one.items() if key != "lastTransitionTime"}
        for one in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions}
