"""Bins: what should these runs ask for, by the trained classifiers of bins?"""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.serve.dependencies import LoadedWorkspaceNow, require
from prophase.serve.json_bodies import JsonRoute

router = APIRouter(route_class=JsonRoute, tags=["sizing"], dependencies=[Depends(require("read"))])
_EXAMPLE = {"task": "train", "request_memory_gib": 64, "attr_articles": 812}


class RunsToSize(BaseModel):
    """Runs to predict, as rows of a job table."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[JsonObject], Field(min_length=1, max_length=10_000)]


@router.post("/bins")
def bins(
    asked: Annotated[RunsToSize, Body(examples=[{"jobs": [_EXAMPLE]}])], held: LoadedWorkspaceNow
) -> JsonObject:
    """Give each run its ladder of memory requests: transform, classify, ask for the bin's edge.

    The model is what `prophase size bins` keeps in the workspace.
    """
    model = held.bins
    rows = model.requests(pd.DataFrame(asked.jobs))
    return {"requests": finite(rows), "data_hash": model.data_hash, "seed": model.seed}
