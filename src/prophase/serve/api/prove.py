"""Is a recommendation safe to apply? The history replayed with and without it, as a task."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase.json_types import JsonObject
from prophase.serve.api.tasks import LATER, Short, StarterNow, Word
from prophase.serve.dependencies import require
from prophase.serve.json_bodies import JsonRoute
from prophase.sizing.resources import SMALLEST_GIB

router = APIRouter(route_class=JsonRoute, tags=["tasks"])
Share = Annotated[float, Field(ge=0, lt=1)]


class AdvisedTask(BaseModel):
    """What one task is to ask for; further fields of an export are allowed."""

    model_config = ConfigDict(extra="allow")

    task: Annotated[str, Field(min_length=1, max_length=1_000)]


class AdviceGiven(BaseModel):
    """A recommendation, as `/v1/size` or `prophase size --export json` return it."""

    model_config = ConfigDict(extra="allow")

    resource: Literal["memory", "cpu", "gpu", "time"] = "memory"
    tasks: Annotated[list[AdvisedTask], Field(min_length=1, max_length=20_000)]


class Wanted(BaseModel):
    """What is to be proven, on which cluster, within which limits."""

    model_config = ConfigDict(extra="forbid")

    advice: AdviceGiven | None = None
    cluster: Short | None = None
    max_oom: Share = 0.01
    min_saving: Share = 0.0
    max_longer_wait: Annotated[float | None, Field(ge=0, le=100)] = None
    risk: Annotated[float | None, Field(gt=0, lt=1)] = None
    resource: Literal["auto", "memory", "cpu", "gpu", "time"] = "auto"
    kind: Annotated[list[Word], Field(max_length=5)] | None = None
    advise_above: Share = 0.0
    min_runs: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    prior: Literal["none", "kind", "tenant"] = "none"
    min_memory_gib: Annotated[float, Field(ge=0, le=1e6)] = SMALLEST_GIB
    splits: Annotated[int, Field(ge=0, le=100)] = 10
    seeds: Annotated[int, Field(ge=0, le=200)] = 10
    kills_after: Annotated[float, Field(gt=0, le=1)] = 1.0
    by: Word = "class"
    order: Word = "fifo"
    place: Word = "best_fit"
    queue: Literal["skip", "strict", "easy", "conservative"] = "skip"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


@router.post("/prove", dependencies=[Depends(require("read"))], **LATER)
async def prove(
    wanted: Annotated[
        Wanted, Body(examples=[{"cluster": "20x0 64c 512g", "max_oom": 0.01, "min_saving": 0.2}])
    ],
    starter: StarterNow,
) -> JsonObject:
    """Prove a recommendation, or the one learnt from the history, as `prophase prove` does."""
    return await starter.begin("prove", wanted)
