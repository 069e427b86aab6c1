"""Kubernetes' mutating admission webhook: an object that is being created, answered in time.

Whatever goes wrong here, the object is allowed: unknown, broken or late means unchanged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.serve.dependencies import require
from prophase.serve.json_bodies import DocumentRoute
from prophase.serve.submit.annotations import audit
from prophase.serve.submit.decision import SubmitDecision, decide
from prophase.serve.submit.pods import mapping
from prophase.serve.submit.submission_service import SubmissionService, submission_service_of
from prophase.serve.tracing import carried, span

log = logging.getLogger("prophase.serve")


_reader = require("read")


async def _may_ask(request: Request) -> None:
    """Let the API server in: with a token, or without if the policy says so."""
    if submission_service_of(request).policy.token:
        await _reader(request)


router = APIRouter(route_class=DocumentRoute, tags=["submit"])

_EXAMPLE = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "operation": "CREATE",
        "namespace": "ml",
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "train-", "labels": {"team": "nlp"}},
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": {"memory": "16Gi"}}}]
            },
        },
    },
}


class AdmissionRequest(BaseModel):
    """What is asked; the parts that do not matter here are passed over."""

    model_config = ConfigDict(extra="allow")

    uid: Annotated[str, Field(min_length=1, max_length=200)]
    operation: str = "CREATE"
    namespace: str | None = None
    dryRun: bool | None = None
    subResource: str | None = None
    object: Any = None


class AdmissionReview(BaseModel):
    """A question of the API server (admission.k8s.io/v1)."""

    model_config = ConfigDict(extra="allow")

    apiVersion: str = "admission.k8s.io/v1"
    kind: str = "AdmissionReview"
    request: AdmissionRequest


@router.post("/v1/submit/kubernetes", dependencies=[Depends(_may_ask)])
async def admit(
    review: Annotated[AdmissionReview, Body(examples=[_EXAMPLE])],
    desk: Annotated[SubmissionService, Depends(submission_service_of)],
) -> JsonObject:
    """Answer an AdmissionReview: allowed always, with a patch if the policy wants one."""
    began = time.perf_counter()
    policy = desk.policy
    asked = review.request
    future = desk.workers.submit(carried(_decided), desk, asked)
    try:
        decision = await asyncio.wait_for(
            asyncio.wrap_future(future), timeout=policy.budget_ms / 1000
        )
    except TimeoutError:
        future.cancel()
        decision = SubmitDecision("late", f"no answer within {policy.budget_ms:g} ms")
    seconds = time.perf_counter() - began
    desk.count("kubernetes", decision.outcome, seconds)
    for counsel, pods in zip(decision.counsels, decision.pods, strict=True):
        desk.count_memory(decision.outcome, counsel, pods)
    _remember(desk, asked, decision, seconds)
    return _answer(review, decision)


@router.get("/v1/submit/decisions", dependencies=[Depends(require("read"))])
def decisions(desk: Annotated[SubmissionService, Depends(submission_service_of)]) -> JsonObject:
    """List the latest decisions, the newest first; in dry-run, what would have been done."""
    return {"decisions": list(reversed(desk.decisions))}


def _decided(desk: SubmissionService, asked: AdmissionRequest) -> SubmitDecision:
    """Decide, and let nothing but a decision out."""
    try:
        document = asked.object
        if not isinstance(document, Mapping) or asked.operation != "CREATE" or asked.subResource:
            return SubmitDecision("skipped", "only objects that are being created are looked at")
        namespace = str(asked.namespace or mapping(document.get("metadata")).get("namespace") or "")
        labels = mapping(mapping(document.get("metadata")).get("labels"))
        rules = desk.policy.rules_for(namespace, labels)
        counts = not asked.dryRun
        with span("decide", mode=rules.mode) as made:
            decision = decide(
                document,
                namespace,
                rules,
                desk.counsellor,
                lambda: desk.attempts.of(document, asked.uid, count=counts),
                desk.bounds_of(namespace),
            )
            if made is not None:
                made.set_attribute("outcome", decision.outcome)
        if counts and desk.events is not None and desk.policy.events:
            desk.events.tell(document, namespace, decision)
        return decision
    except ProphaseError as error:
        return SubmitDecision("failed", str(error))
    except Exception:
        log.exception("an object passes unchanged because of an error")
        return SubmitDecision("failed", "an error inside Prophase")


def _answer(review: AdmissionReview, decision: SubmitDecision) -> JsonObject:
    response: JsonObject = {
        "uid": review.request.uid,
        "allowed": True,
        "auditAnnotations": audit(decision.outcome, decision.reason),
    }
    if decision.patch is not None and decision.changes:
        response |= {"patchType": "JSONPatch", "patch": decision.patch.encoded()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _remember(
    desk: SubmissionService, asked: AdmissionRequest, decision: SubmitDecision, seconds: float
) -> None:
    document = mapping(asked.object)
    metadata = mapping(document.get("metadata"))
    if decision.outcome not in ("off", "skipped"):
        desk.decisions.append(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "system": "kubernetes",
                "namespace": asked.namespace,
                "kind": str(document.get("kind"))[:100],
                "name": str(metadata.get("name") or metadata.get("generateName") or "")[:300],
                "outcome": decision.outcome,
                "reason": decision.reason,
                "patch": [] if decision.patch is None else decision.patch.operations,
                "ms": round(1000 * seconds, 2),
            }
        )
