"""Runs: a campaign of profiling runs, how far it is, and setting runs back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from prophase.errors import MissingFileError
from prophase.json_types import JsonObject
from prophase.runs.campaign import Campaign
from prophase.runs.measured_rows import profile_of
from prophase.runs.status import campaign_status, list_runs, reset_runs, show_run
from prophase.serve.dependencies import Caller, require
from prophase.serve.settings import campaign_folder

router = APIRouter(tags=["runs"])
RunId = Annotated[int, Path(ge=1, le=2**31 - 1)]
_READ, _ADMIN = [Depends(require("read"))], [Depends(require("admin"))]


@contextmanager
def opened(request: Request) -> Iterator[Campaign]:
    """Open the campaign of the service for one request."""
    folder = campaign_folder(request.app.state.settings, request.app.state.library.workspace.folder)
    if not folder.is_dir():
        raise MissingFileError(
            "this service has no campaign of runs. Begin one with: prophase runs init, and start "
            "the service with --campaign FOLDER."
        )
    campaign = Campaign.open(folder)
    try:
        yield campaign
    finally:
        campaign.close()


@router.get("/runs/status", dependencies=_READ)
def status(request: Request) -> JsonObject:
    """Say how many runs are in which state, and which workers are alive."""
    with opened(request) as campaign:
        return campaign_status(campaign)


@router.get("/runs", dependencies=_READ)
def runs(
    request: Request,
    failed: bool = False,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    most: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[JsonObject]:
    """List runs by id, `most` after the id `after`; or only those that failed."""
    with opened(request) as campaign:
        return list_runs(campaign, failed=failed, after=after, most=most)


@router.get("/runs/{run}", dependencies=_READ)
def one_run(run: RunId, request: Request) -> JsonObject:
    """Tell where a run is and everything that happened to it; as `prophase runs show`."""
    with opened(request) as campaign:
        found = show_run(campaign, run)
    return {**found.pop("attributes"), **found}


@router.get("/runs/{run}/profile", dependencies=_READ)
def run_profile(run: RunId, request: Request) -> list[JsonObject]:
    """Give one row per task of an executed run: what it was given, and what it used at most."""
    with opened(request) as campaign:
        return profile_of(campaign, campaign.store.run(run))


class Reset(BaseModel):
    """How far runs go back."""

    model_config = ConfigDict(extra="forbid")

    runs: Annotated[list[Annotated[int, Field(ge=1, le=2**31 - 1)]], Field(max_length=10_000)] = []
    all_failed: bool = False
    to: Annotated[str, Field(max_length=20)] = "17"
    reason: Annotated[str, Field(max_length=1_000)] = ""


@router.post("/runs/reset", dependencies=_ADMIN)
def reset(
    wanted: Annotated[Reset, Body(examples=[{"runs": [12], "to": "17", "reason": "more memory"}])],
    request: Request,
    who: Caller,
) -> list[JsonObject]:
    """Set runs back, so that workers pick them up again. The same as `prophase runs reset`."""
    with opened(request) as campaign:
        return reset_runs(
            campaign,
            wanted.runs,
            to=wanted.to,
            all_failed=wanted.all_failed,
            actor=who,
            reason=wanted.reason,
        )
