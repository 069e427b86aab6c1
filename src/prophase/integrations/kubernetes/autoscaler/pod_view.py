"""A pod of the API server as the controller sees it, and the patches it sends back."""

from __future__ import annotations

import json
import math
from datetime import datetime

from prophase import units
from prophase.autoscale.live_decision import LiveDecision, PodMemory, PodNow
from prophase.errors import ParameterError
from prophase.json_types import JsonMapping, JsonObject

#: what the controller keeps with a pod, and what it would do in a dry run
STATE, WOULD = "prophase.dev/autoscale-state", "prophase.dev/autoscale-would"
CONTAINER = "prophase.dev/container"
#: metric of a policy -> resource of a container, and how many of the metric's units are one of it
RESOURCES = {"memory_gib": ("memory", 2.0**30), "cpu_cores": ("cpu", 1.0)}
#: pending longer than this is the same as for ever
_LONG_AGO = 0.0


def pod_now(pod: JsonMapping, metric: str) -> PodNow:
    """Return what a decision needs to know of a pod."""
    resource, unit = RESOURCES[metric]
    name = pod["metadata"]["name"]
    container = target_container(pod)
    memory = _memory(pod)
    if container is None:
        why = f"several containers: the annotation {CONTAINER} says which one to resize"
        return PodNow(name, math.nan, math.nan, fixed=why, memory=memory)
    held = container.get("resources") or {}
    asked = _amount(held, "requests", resource, unit)
    limit = _amount(held, "limits", resource, unit)
    allocated = asked if asked is not None else limit
    if allocated is None:
        why = f"container {container['name']} has no {resource} request"
        return PodNow(name, math.nan, math.nan, fixed=why, memory=memory)
    status = _status_of(pod, str(container["name"]))
    granted = _amount(status.get("resources") or {}, "requests", resource, unit)
    last = ((status.get("lastState") or {}).get("terminated")) or {}
    pending, since_s = _pending(pod)
    return PodNow(
        name,
        allocated,
        allocated if granted is None else granted,
        restarts=int(status.get("restartCount") or 0),
        killed_at=(limit or allocated) if last.get("reason") == "OOMKilled" else None,
        pending=pending,
        pending_since_s=since_s,
        fixed=_why_fixed(container, resource),
        memory=memory,
    )


def target_container(pod: JsonMapping) -> JsonMapping | None:
    """Return the container that is resized: the only one, or the one that is named."""
    held = pod["spec"]["containers"]
    if len(held) == 1:
        return dict(held[0])
    named = (pod["metadata"].get("annotations") or {}).get(CONTAINER)
    return next((dict(one) for one in held if one["name"] == named), None)


def resize_patch(pod: JsonMapping, metric: str, applied: float) -> JsonObject:
    """Return what the resize subresource takes; a limit stays, unless it equals the request.

    It is also raised where it would lie below the request.
    """
    resource, unit = RESOURCES[metric]
    container = target_container(pod)
    assert container is not None
    held = container.get("resources") or {}
    asked = _amount(held, "requests", resource, unit)
    limit = _amount(held, "limits", resource, unit)
    text = quantity(applied, metric)
    resources: JsonObject = {"requests": {resource: text}}
    if limit is not None and (asked is None or limit in (asked,) or limit < applied):
        resources["limits"] = {resource: text}
    return {"spec": {"containers": [{"name": container["name"], "resources": resources}]}}


def quantity(applied: float, metric: str) -> str:
    """Return an allocation as Kubernetes writes it.

    Examples
    --------
    >>> quantity(1.5, "memory_gib"), quantity(0.25, "cpu_cores")
    ('1536Mi', '250m')
    """
    if RESOURCES[metric][0] == "memory":
        return f"{units.whole_mib(applied)}Mi"
    return f"{round(1000 * applied)}m"


def state_patch(pod: JsonMapping, memory: PodMemory) -> JsonObject:
    """Return the patch that keeps what was decided; refused if the pod was changed meanwhile."""
    text = json.dumps(memory.document(), separators=(",", ":"))
    version = pod["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": {STATE: text}}}


def would_patch(decision: LiveDecision, metric: str) -> JsonObject:
    """Return the patch of a dry run."""
    told = {
        "decision": decision.name,
        "to": quantity(decision.applied(metric), metric),
        "reason": decision.reason,
    }
    return {"metadata": {"annotations": {WOULD: json.dumps(told)}}}


def _memory(pod: JsonMapping) -> PodMemory:
    text = (pod["metadata"].get("annotations") or {}).get(STATE, "{}")
    try:
        held = json.loads(text)
    except ValueError:
        held = {}
    return PodMemory.of(held if isinstance(held, dict) else {})


def _status_of(pod: JsonMapping, container: str) -> JsonMapping:
    held = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((one for one in held if one["name"] == container), {})


def _pending(pod: JsonMapping) -> tuple[str, float]:
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one["type"] == "PodResizePending" and one["status"] == "True":
            at = one.get("lastTransitionTime")
            since_s = datetime.fromisoformat(at).timestamp() if at else _LONG_AGO
            return str(one.get("reason") or "Deferred"), since_s
    return "", 0.0


def _why_fixed(container: JsonMapping, resource: str) -> str:
    for one in container.get("resizePolicy") or ():
        if one["resourceName"] == resource and one["restartPolicy"] == "RestartContainer":
            return f"its resizePolicy restarts the container when {resource} changes"
    return ""


def _amount(held: JsonMapping, part: str, resource: str, unit: float) -> float | None:
    text = (held.get(part) or {}).get(resource)
    if text is None:
        return None
    try:
        return units.parse_quantity(str(text)) / unit
    except ParameterError:
        return None
