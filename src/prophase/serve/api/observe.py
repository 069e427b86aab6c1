"""Observe: a job has finished, and this is what it did."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.profile.submission.submission import FinishedJob, finished_from_fields
from prophase.serve.dependencies import (
    WhoAsks,
    WorkspaceCacheNow,
    refuse_other_tenants,
    require,
)
from prophase.serve.json_bodies import JsonRoute

router = APIRouter(route_class=JsonRoute, tags=["feedback"])
#: more are described in a thread, so that other requests are not held up
_FEW_JOBS = 20
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


@router.post("/observe", dependencies=[Depends(require("feedback", tenants=True))])
async def observe(
    finished: Annotated[Finished, Body(examples=[{"jobs": [_EXAMPLE]}])],
    library: WorkspaceCacheNow,
    who: WhoAsks,
    request: Request,
) -> JsonObject:
    """Report finished jobs, each by its `job_id`; they are on the disk before this answers.

    `taken`: new, and from now on predictions and profiles count it. `known`: reported before, so
    nothing changes, and a report may be sent again at will. `differs`: reported before with other
    values; the first report counts.
    """
    if len(finished.jobs) > _FEW_JOBS:
        found = await asyncio.to_thread(_described, finished.jobs)
    else:
        found = _described(finished.jobs)
    columns = [dict(one.columns) for one in found]
    refuse_other_tenants(who, columns)
    order = library.feedback.order(columns, who.name)
    outcomes = await asyncio.wrap_future(order)
    request.state.audit = {"jobs": len(outcomes), "taken": outcomes.count("taken")}
    for outcome in outcomes:
        request.app.state.metrics.feedback.labels(str(outcome == "taken").lower()).inc()
    return {
        "jobs": [
            {"job_id": one.job_id, "result": outcome, "notes": list(one.notes)}
            for one, outcome in zip(found, outcomes, strict=True)
        ],
        "taken": outcomes.count("taken"),
    }


def _described(jobs: list[JsonObject]) -> list[FinishedJob]:
    return [
        finished_from_fields(job, where=f"job {number}") for number, job in enumerate(jobs, start=1)
    ]


@router.get("/observe", dependencies=[Depends(require("read"))])
def observed(library: WorkspaceCacheNow) -> dict[str, int]:
    """Say how many jobs were reported, and how many the model has learnt from."""
    return {"reported": library.feedback.count, "learnt": library.now.reported}
