"""Observe: a job has finished, and this is what it did."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.profile.submission.submission import finished_from_fields
from prophase.serve.dependencies import Caller, WorkspaceCacheNow, require

router = APIRouter(tags=["feedback"])
_EXAMPLE = {
    "job_id": "4711",
    "user": "ann",
    "gpus": 2,
    "memory": "64Gi",
    "duration_s": "3h10m",
    "memory_peak_gib": 41.5,
    "status": "completed",
}


class Finished(BaseModel):
    """Jobs that have ended."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[JsonObject], Field(min_length=1, max_length=1_000)]


@router.post("/observe", dependencies=[Depends(require("feedback"))])
async def observe(
    finished: Annotated[Finished, Body(examples=[{"jobs": [_EXAMPLE]}])],
    library: WorkspaceCacheNow,
    who: Caller,
    request: Request,
) -> JsonObject:
    """Report finished jobs, each by its `job_id`; they are on the disk before this answers.

    `taken`: new, and from now on predictions and profiles count it. `known`: reported before, so
    nothing changes, and a report may be sent again at will. `differs`: reported before with other
    values; the first report counts.
    """
    found = [
        finished_from_fields(job, where=f"job {number}")
        for number, job in enumerate(finished.jobs, start=1)
    ]
    order = library.feedback.order([dict(one.columns) for one in found], who)
    outcomes = await asyncio.wrap_future(order)
    for outcome in outcomes:
        request.app.state.metrics.feedback.labels(str(outcome == "taken").lower()).inc()
    return {
        "jobs": [
            {"job_id": one.job_id, "result": outcome, "notes": list(one.notes)}
            for one, outcome in zip(found, outcomes, strict=True)
        ],
        "taken": outcomes.count("taken"),
    }


@router.get("/observe", dependencies=[Depends(require("read"))])
def observed(library: WorkspaceCacheNow) -> dict[str, int]:
    """Say how many jobs were reported, and how many the model has learnt from."""
    return {"reported": library.feedback.count, "learnt": library.now.reported}
