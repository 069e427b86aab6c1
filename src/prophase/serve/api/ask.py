"""Ask: what is known of a job before it runs?"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.predict.prediction_rows import described_columns
from prophase.serve.dependencies import (
    LoadedWorkspaceNow,
    WhoAsks,
    refuse_other_tenants,
    require,
)
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.tracing import span

router = APIRouter(
    route_class=JsonRoute, tags=["ask"], dependencies=[Depends(require("read", tenants=True))]
)

#: a job as its user describes it
EXAMPLE = {"user": "ann", "queue": "gpu", "gpus": 2, "memory": "64Gi", "time_limit": "8h"}


class AskRequest(BaseModel):
    """Jobs to ask about."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[JsonObject], Field(min_length=1, max_length=100)]
    targets: Annotated[list[str] | None, Field(max_length=100)] = None


@router.post("/ask")
def ask_jobs(
    question: Annotated[AskRequest, Body(examples=[{"jobs": [EXAMPLE], "targets": None}])],
    held: LoadedWorkspaceNow,
    who: WhoAsks,
) -> JsonObject:
    """Say how long each job will run and what it will use, with a 90 % range and the reason.

    The same as `prophase ask --format json`.
    """
    model = held.model
    if who.tenants:
        refuse_other_tenants(who, described_columns(question.jobs))
    with span("model", jobs=len(question.jobs)):
        found = [
            ask(model, job, targets=question.targets, classifier=held.classifier)
            for job in question.jobs
        ]
    return {"jobs": [advice.to_dict() for advice in found], **model.origin}
