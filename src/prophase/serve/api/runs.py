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
from prophase.runs.run_filter import RunFilter
from prophase.runs.status import (
    allocation_rows,
    campaign_status,
    list_runs,
    list_tasks,
    reset_runs,
    show_run,
)
from prophase.serve.dependencies import Caller, require
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.settings import campaign_folder

router = APIRouter(route_class=JsonRoute, tags=["runs"])
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


def wanted_runs(
    scenario: Annotated[str | None, Query(max_length=200)] = None,
    since: Annotated[str | None, Query(max_length=20)] = None,
    until: Annotated[str | None, Query(max_length=20)] = None,
    task: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
) -> RunFilter:
    """Return which runs a request is about."""
    return RunFilter.of_text(scenario=scenario, since=since, until=until, task=task, state=state)


WantedRuns = Annotated[RunFilter, Depends(wanted_runs)]


@router.get("/runs/status", dependencies=_READ)
def status(request: Request) -> JsonObject:
    """Say how many runs are in which state, and which workers are alive."""
    with opened(request) as campaign:
        return campaign_status(campaign)


@router.get("/runs", dependencies=_READ)
def runs(
    request: Request,
    where: WantedRuns,
    failed: bool = False,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    most: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[JsonObject]:
    """List runs by id, `most` after the id `after`; or only some of them."""
    with opened(request) as campaign:
        return list_runs(campaign, failed=failed, where=where, after=after, most=most)


@router.get("/runs/tasks", dependencies=_READ)
def tasks(
    request: Request,
    where: WantedRuns,
    ended: Annotated[str | None, Query(max_length=40)] = None,
) -> list[JsonObject]:
    """List the task instances of finished and failed runs; as `prophase runs tasks`."""
    with opened(request) as campaign:
        return list_tasks(campaign, where=where, ended=ended)


@router.get("/runs/settings", dependencies=_READ)
def settings(request: Request) -> JsonObject:
    """Tell the live settings, and what each task asks for next."""
    with opened(request) as campaign:
        return {"settings": campaign.settings.read(), "tasks": allocation_rows(campaign)}


@router.post("/runs/settings", dependencies=_ADMIN)
def change_settings(
    wanted: Annotated[
        dict[Annotated[str, Field(max_length=200)], float | Annotated[str, Field(max_length=100)]],
        Body(examples=[{"task.train.memory_gib": 16, "execute.parallel": 4}], max_length=200),
    ],
    request: Request,
    who: Caller,
) -> JsonObject:
    """Change live settings and allocations of tasks, all or none; as `prophase runs set`.

    They hold from the next cycle on. The value `default` forgets what was set.
    """
    with opened(request) as campaign:
        campaign.set_all([f"{key}={value}" for key, value in wanted.items()], actor=who)
        return {"settings": campaign.settings.read(), "tasks": allocation_rows(campaign)}


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
