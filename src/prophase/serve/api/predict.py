"""Predict: how long will these jobs run, what will they use?"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.profile.predict.prediction_rows import described_columns
from prophase.serve.api.ask import EXAMPLE
from prophase.serve.dependencies import (
    LoadedWorkspaceNow,
    WhoAsks,
    refuse_other_tenants,
    require,
)
from prophase.serve.json_bodies import JsonRoute, json_answer

router = APIRouter(
    route_class=JsonRoute, tags=["ask"], dependencies=[Depends(require("read", tenants=True))]
)
#: more are described in a thread, so that other requests are not held up
_FEW_JOBS = 20


class Jobs(BaseModel):
    """Jobs to predict."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[JsonObject], Field(min_length=1, max_length=10_000)]
    targets: Annotated[list[str] | None, Field(min_length=1, max_length=100)] = ["duration_s"]


@router.post("/predict")
async def predict(
    asked: Annotated[Jobs, Body(examples=[{"jobs": [EXAMPLE], "targets": ["duration_s"]}])],
    held: LoadedWorkspaceNow,
    request: Request,
    who: WhoAsks,
) -> JsonObject:
    """Predict targets of one job or of many, with a 90 % range; `targets: null` for all.

    Quicker than `/v1/ask`, which also says what mattered. One target gives a row per job, several
    give a row per job and target. The same as `prophase predict --format json`.
    """
    model = held.model
    targets = None if asked.targets is None else tuple(model.check_targets(asked.targets))
    if len(asked.jobs) > _FEW_JOBS:
        columns = await asyncio.to_thread(described_columns, asked.jobs)
    else:
        columns = described_columns(asked.jobs)
    refuse_other_tenants(who, columns)
    answer = request.app.state.batcher.ask(model, columns, targets)
    rows: list[JsonObject] = await asyncio.wrap_future(answer)
    request.app.state.metrics.predictions.inc(len(asked.jobs))
    found: JsonObject = await json_answer("predictions", rows, model.origin)
    return found
