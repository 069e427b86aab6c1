"""What happens to one object: ignored, reported, annotated or changed. Pure: nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from prophase import units
from prophase.errors import ParameterError, ProphaseError
from prophase.json_types import JsonMapping
from prophase.profile.submission.kubernetes_manifest import from_manifest
from prophase.serve.submit.annotations import (
    CONTAINER,
    MODE,
    PODS,
    PREFIX,
    annotations_of,
    changed,
    labels_of,
    ladder_note,
    quantity,
    reason,
)
from prophase.serve.submit.json_patch import Patch
from prophase.serve.submit.kubernetes_limit_ranges import NO_BOUNDS, RequestBounds
from prophase.serve.submit.pods import (
    PodPlace,
    containers_of,
    mapping,
    pod_places,
    submission_of,
    why_no_job,
)
from prophase.serve.submit.policy import MODES, SubmitRules
from prophase.sizing.job_request import RequestRecommendation
from prophase.study.submission.job_recommender import JobRecommendation, RecommendsForJob

#: the resource that a whole GPU is, and the annotation that names the part given instead
_WHOLE_GPU, _PART = "nvidia.com/gpu", PREFIX + "gpu-part"
#: resource -> column of the job table
_COLUMNS = {"memory": "request_memory_gib", "cpu": "request_cpu_cores"}


@dataclass(frozen=True)
class SubmitDecision:
    """What was decided, and the patch that does it; no patch changes nothing."""

    #: off, skipped, dry-run, annotated, set, retried
    outcome: str
    reason: str
    patch: Patch | None = None
    #: the object as it would be
    after: JsonMapping | None = None
    counsels: tuple[JobRecommendation, ...] = ()
    #: pods that each recommendation is for
    pods: tuple[int, ...] = ()

    @property
    def changes(self) -> bool:
        """Say whether the object is changed."""
        return self.patch is not None and bool(self.patch.operations)


def decide(
    document: JsonMapping,
    namespace: str,
    rules: SubmitRules,
    counsellor: RecommendsForJob,
    attempt_of: Callable[[], int] = lambda: 1,
    bounds: RequestBounds = NO_BOUNDS,
) -> SubmitDecision:
    """Return what happens to an object that is being created.

    Parameters
    ----------
    attempt_of : callable
        Which attempt a pod is; asked only if it matters.
    bounds : RequestBounds
        The smallest requests that the namespace allows.
    """
    if rules.mode == "off":
        return SubmitDecision("off", "the policy does not cover this object")
    skipped = why_no_job(document)
    if skipped is not None:
        return SubmitDecision("skipped", skipped)
    notes = mapping(mapping(document.get("metadata")).get("annotations"))
    if document.get("kind") == "Pod" and notes.get(MODE) in MODES:
        return _made_from_template(document, notes, rules, attempt_of, bounds)
    places = pod_places(document)
    sized = [name for name in (*_COLUMNS, "gpu") if name in rules.resources]
    counsels = [
        counsellor.counsel(submission_of(document, one, namespace), resources=sized)
        for one in places
    ]
    # an annotation says the same of every attempt
    attempt = attempt_of() if document.get("kind") == "Pod" and rules.mode != "annotate" else 1
    patch = Patch(document)
    told = [
        _apply(patch, one, held, rules, attempt, bounds)
        for one, held in zip(places, counsels, strict=True)
    ]
    whole = _whole(places, counsels)
    if places[0].path:
        _annotate(patch, (), whole, rules)
    words = "; ".join(dict.fromkeys([reason(whole), *(word for one in told for word in one.why)]))
    is_set = any(one.set for one in told)
    if rules.mode == "dry-run":
        would = "would set requests" if is_set else "would annotate"
        outcome, words, kept = "dry-run", f"{would}: {words}", None
    else:
        outcome, kept = "set" if is_set else "annotated", patch
    pods = tuple(one.pods for one in places)
    return SubmitDecision(outcome, words, kept, patch.after, tuple(counsels), pods)


@dataclass(frozen=True)
class _Told:
    """Whether requests of a pod are set, and why not those that are not."""

    set: bool
    why: Sequence[str] = ()


def _whole(places: Sequence[PodPlace], counsels: Sequence[JobRecommendation]) -> JobRecommendation:
    """Return the recommendation that stands for the whole object: that of its longest part."""
    return max(counsels, key=lambda one: one.duration.value if one.duration is not None else -1.0)


def _annotate(
    patch: Patch, path: tuple[str | int, ...], counsel: JobRecommendation, rules: SubmitRules
) -> None:
    told = rules.mode if rules.mode != "dry-run" else "annotate"
    for name, value in annotations_of(counsel, told).items():
        patch.put((*path, "metadata", "annotations", name), value)
    if rules.labels:
        for name, value in labels_of(counsel).items():
            patch.put((*path, "metadata", "labels", name), value)


def _apply(
    patch: Patch,
    place: PodPlace,
    counsel: JobRecommendation,
    rules: SubmitRules,
    attempt: int,
    bounds: RequestBounds,
) -> _Told:
    """Annotate a pod description and set its requests."""
    _annotate(patch, place.path, counsel, rules)
    if place.path:
        needed = mapping(place.spec).get("completions")
        pods = max(place.pods, needed if isinstance(needed, int) else 0)
        patch.put((*place.path, "metadata", "annotations", PODS), str(pods))
    wanted = changed(counsel, rules.resources)
    if rules.mode == "annotate" or not wanted:
        return _Told(False)
    target, why = _target(place.template)
    if target is None:
        return _Told(False, [why])
    spec = (*place.path, "spec", "containers", target, "resources")
    said, is_set = [], False
    for one in wanted:
        if one.resource == "gpu":
            refused = _set_gpu(patch, place, target, one) if attempt == 1 else "gpu: a whole one"
            said += [refused] if refused else []
            is_set |= refused is None
            continue
        refused = _set(patch, spec, place.template, target, one, rules, attempt, bounds)
        said += [refused] if refused else []
        is_set |= refused is None
    return _Told(is_set, said)


def _set(
    patch: Patch,
    path: tuple[str | int, ...],
    template: JsonMapping,
    target: int,
    one: RequestRecommendation,
    rules: SubmitRules,
    attempt: int,
    bounds: RequestBounds,
) -> str | None:
    """Set the request of one resource; returns why not, if not."""
    containers, _ = containers_of(template)
    beside = _asked(
        [held for place, held in enumerate(containers) if place != target], one.resource
    )
    own = one.rung(attempt) - beside
    if own <= 0:
        return f"{one.resource}: the other containers ask for more than all should"
    held = mapping(containers[target].get("resources"))
    limit = _amount(one.resource, mapping(held.get("limits")).get(one.resource))
    follows = rules.limits == "set" and one.resource == "memory"
    least = bounds.least(one.resource, None if follows else limit)
    asked = _amount(one.resource, mapping(held.get("requests")).get(one.resource))
    if least > own and asked is not None and least >= asked:
        return f"{one.resource}: a LimitRange of the namespace allows no smaller request"
    own = max(own, least)
    if limit is not None and not follows:
        own = min(own, limit)
    patch.put((*path, "requests", one.resource), quantity(one.resource, own))
    # a CPU limit slows a job down and never kills it, so it stays as its user set it
    if follows:
        patch.put((*path, "limits", one.resource), quantity(one.resource, own))
    return None


def _set_gpu(patch: Patch, place: PodPlace, target: int, one: RequestRecommendation) -> str | None:
    """Ask for a part of a GPU in place of a whole one; returns why not, if not."""
    containers, _ = containers_of(place.template)
    asked = [_gpus_of(held) for held in containers]
    if one.part is None or not one.part.kubernetes:
        return "gpu: no part of a GPU is known that the nodes give"
    if asked[target] != "1" or any(held for at, held in enumerate(asked) if at != target):
        return "gpu: only one whole GPU of one container is exchanged for a part"
    path = (*place.path, "spec", "containers", target, "resources")
    _exchange(patch, path, _WHOLE_GPU, one.part.kubernetes)
    patch.put((*place.path, "metadata", "annotations", _PART), one.part.kubernetes)
    return None


def _exchange(patch: Patch, path: tuple[str | int, ...], old: str, new: str) -> None:
    """Ask for one of a resource in place of another; requests and limits of such are the same."""
    for kind in ("requests", "limits"):
        patch.remove((*path, kind, old))
        patch.put((*path, kind, new), "1")


def _gpus_of(container: JsonMapping) -> str:
    """Return how many whole GPUs a container asks for, as it is written; empty if none."""
    held = mapping(container.get("resources"))
    told = (mapping(held.get(kind)).get(_WHOLE_GPU) for kind in ("limits", "requests"))
    return next((str(one) for one in told if one is not None), "")


def _target(template: JsonMapping) -> tuple[int | None, str]:
    """Return the container whose requests are set, or why there is none."""
    containers, beside = containers_of(template)
    if mapping(mapping(template.get("spec")).get("resources")):
        return None, "the pod has requests as a whole, which are not changed"
    if len(containers) == 1 and not beside:
        return 0, ""
    metadata = mapping(template.get("metadata"))
    named = mapping(metadata.get("annotations")).get(CONTAINER)
    named = named or mapping(metadata.get("labels")).get(CONTAINER)
    for place, one in enumerate(containers):
        if named and one.get("name") == named and not beside:
            return place, ""
    return None, (
        "the pod has several containers: the label prophase.dev/container says whose requests "
        "to set"
    )


def _made_from_template(
    document: JsonMapping,
    notes: JsonMapping,
    rules: SubmitRules,
    attempt_of: Callable[[], int],
    bounds: RequestBounds,
) -> SubmitDecision:
    """Decide about a pod whose Job was decided before: only a retry asks for more."""
    attempt = attempt_of()
    decided_before = "decided with the object it was made from"
    if notes[MODE] != "set" or attempt < 2:
        return SubmitDecision("skipped", decided_before)
    patch = Patch(document)
    said = []
    for resource in (name for name in rules.resources if name in _COLUMNS):
        rungs = str(notes.get(ladder_note(resource), "")).split(",")
        ladder = tuple(held for rung in rungs if (held := _amount(resource, rung)) is not None)
        if not ladder:
            continue
        one = RequestRecommendation(resource, _COLUMNS[resource], None, ladder, "", "")
        target, _ = _target(document)
        if target is not None:
            path = ("spec", "containers", target, "resources")
            if _set(patch, path, document, target, one, rules, attempt, bounds) is None:
                said.append(f"{resource}: {quantity(resource, one.rung(attempt))}")
    part, (target, _) = str(notes.get(_PART, "")), _target(document)
    if part and "gpu" in rules.resources and target is not None:
        # a part that did not do: the whole GPU that was asked for
        _exchange(patch, ("spec", "containers", target, "resources"), part, _WHOLE_GPU)
        said.append("gpu: a whole one")
    if not said:
        return SubmitDecision("skipped", decided_before)
    words = f"attempt {attempt} asks for the next rung ({', '.join(said)})"
    if rules.mode != "set":
        return SubmitDecision("dry-run", f"would say: {words}", None, patch.after)
    return SubmitDecision("retried", words, patch, patch.after)


def _asked(containers: Sequence[JsonMapping], resource: str) -> float:
    """Return what containers ask for together."""
    if not containers:
        return 0.0
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": list(containers)}}
    try:
        found = from_manifest(pod, "the pod")[0].columns.get(_COLUMNS[resource], 0.0)
    except ProphaseError:
        return float("inf")
    return float(found)


def _amount(resource: str, value: Any) -> float | None:
    try:
        found = units.parse_quantity(str(value))
    except ParameterError:
        return None
    return found / 2**30 if resource == "memory" else found
