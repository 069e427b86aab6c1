"""Slurm's job_submit: a job's fields in, the fields to change out."""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase import units
from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.profile.submission.slurm_job_desc import from_job_desc
from prophase.serve.dependencies import require
from prophase.serve.submit.policy import MODES, Mode
from prophase.serve.submit.submission_service import SubmissionService, submission_service_of
from prophase.study.submission.job_recommender import JobRecommendation

router = APIRouter(tags=["submit"], dependencies=[Depends(require("read"))])

_EXAMPLE = {
    "job": {
        "name": "train", "user_name": "ann", "account": "nlp", "partition": "gpu",
        "min_nodes": 1, "cpus_per_task": 8, "pn_min_memory": 65536, "time_limit": 480,
        "tres_per_node": "gres:gpu:a100:1",
    },
    "attempt": 1,
}  # fmt: skip


class SlurmQuestion(BaseModel):
    """A job as job_submit sees it."""

    model_config = ConfigDict(extra="forbid")

    #: fields of job_desc; those that are not set may be left out
    job: JsonObject
    #: higher after a kill: the next rung is recommended
    attempt: Annotated[int, Field(ge=1, le=100)] = 1


@router.post("/v1/submit/slurm")
async def advise_slurm(
    question: Annotated[SlurmQuestion, Body(examples=[_EXAMPLE])],
    desk: Annotated[SubmissionService, Depends(submission_service_of)],
) -> JsonObject:
    """Say which fields of job_desc to change; `apply` says whether the policy wants it done.

    An answer always comes within the budget; one that would be late changes nothing.
    """
    began = time.perf_counter()
    budget_s = desk.policy.budget_ms / 1000
    future = desk.workers.submit(_answered, desk, question)
    try:
        answer = await asyncio.wait_for(asyncio.wrap_future(future), timeout=budget_s)
    except TimeoutError:
        future.cancel()
        answer = _nothing("late", f"no answer within {1000 * budget_s:g} ms")
    seconds = time.perf_counter() - began
    desk.count("slurm", answer["outcome"], seconds)
    if answer["outcome"] not in ("off", "skipped"):
        desk.decisions.append(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "system": "slurm",
                "namespace": str(question.job.get("partition") or "")[:300],
                "kind": "job",
                "name": str(question.job.get("name") or "")[:300],
                "outcome": answer["outcome"],
                "reason": answer["reason"],
                "patch": [],
                "ms": round(1000 * seconds, 2),
            }
        )
    return answer


def _answered(desk: SubmissionService, question: SlurmQuestion) -> JsonObject:
    try:
        submission = from_job_desc(question.job)
    except ProphaseError as error:
        return _nothing("failed", str(error))
    rules = desk.policy.rules_for(str(submission.columns.get("queue", "")), {})
    if rules.mode == "off":
        return _nothing("off", "the policy does not cover this job")
    if not submission.columns:
        return _nothing("skipped", "the job says nothing")
    counsel = desk.counsellor.counsel(submission)
    change = _fields(counsel, rules.resources, question.attempt)
    apply = rules.mode == "set" and bool(change)
    return {
        "apply": apply,
        "job": change,
        "outcome": _outcome(rules.mode, bool(change)),
        "reason": "; ".join(word.rstrip(".") for word in counsel.words()),
        "counsel": counsel.to_dict(),
    }


def _fields(counsel: JobRecommendation, resources: tuple[str, ...], attempt: int) -> dict[str, int]:
    """Return the fields of job_desc to set."""
    found = {}
    for one in counsel.requests:
        # without its own number the amount may come from its partition
        if not one.change or one.asked is None or one.resource not in resources:
            continue
        amount = one.rung(attempt)
        if one.resource == "memory":
            found["pn_min_memory"] = units.whole_mib(amount)
        elif one.resource == "time":
            found["time_limit"] = max(1, math.ceil(amount / 60 - 1e-9))
    return found


def _outcome(mode: Mode, change: bool) -> str:
    if mode == "dry-run":
        return "dry-run"
    return "set" if mode == MODES[-1] and change else "annotated"


def _nothing(outcome: str, words: str) -> JsonObject:
    return {"apply": False, "job": {}, "outcome": outcome, "reason": words, "counsel": None}
