"""Profiles: which kinds of jobs there are, and which nodes suit them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.profile.node_types import (
    jobs_of_profile,
    rank_for_job,
    rank_node_types,
)
from prophase.profile.submission.submission import from_fields
from prophase.provenance import with_provenance
from prophase.serve.api.ask import EXAMPLE
from prophase.serve.dependencies import LoadedWorkspaceNow, WorkspaceCacheNow, require
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.problems import Problem

router = APIRouter(
    route_class=JsonRoute, tags=["profiles"], dependencies=[Depends(require("read"))]
)

ProfileName = Annotated[
    str, Path(max_length=100, description="Number or name of a profile; -1 or outliers.")
]


@router.get("/profiles")
def profiles(held: LoadedWorkspaceNow, library: WorkspaceCacheNow) -> JsonObject:
    """List all profiles with what their jobs use, reported jobs counted in.

    The same as `prophase profile show --format json`.
    """
    profiler = held.profiler
    told = profiler.to_dict(library.profiles(held))
    return with_provenance(told, data_hash=profiler.data_hash_)


@router.get("/profiles/{profile}")
def one_profile(
    profile: ProfileName, held: LoadedWorkspaceNow, library: WorkspaceCacheNow
) -> JsonObject:
    """Say what one profile is: its metadata, and what its jobs use.

    The same as `prophase profile show WORKSPACE PROFILE --format json`.
    """
    now = library.profiles(held)
    wanted = "-1" if profile == "outliers" else profile
    for one in now:
        if wanted in (str(one.profile), one.name):
            return with_provenance(finite(one.to_dict()), data_hash=held.profiler.data_hash_)
    known = [str(one.profile) for one in now]
    words = not_among(f"there is no profile {profile}.", profile, known, heading="There are")
    raise Problem(404, words)


class NodesQuestion(BaseModel):
    """For which jobs node types are ranked: one job, a profile, or all."""

    model_config = ConfigDict(extra="forbid")

    job: JsonObject | None = None
    by_profile: bool = False
    profile: Annotated[int | str | None, Field(union_mode="left_to_right")] = None
    column: Annotated[str | None, Field(max_length=100)] = None
    enough: Annotated[int, Field(ge=1, le=1_000_000)] = 30


@router.post("/nodes")
def rank_nodes(
    question: Annotated[
        NodesQuestion, Body(examples=[{"profile": 0}, {"job": EXAMPLE, "enough": 10}])
    ],
    held: LoadedWorkspaceNow,
) -> JsonObject:
    """Rank node types for a job or a profile, quickest first, for a scheduler to score nodes by.

    The same as `prophase nodes --format json`: jobs choose their nodes, so a rank shows
    association, not cause.
    """
    if question.job is not None and question.profile is not None:
        raise ParameterError("job and profile are two questions. Ask one of them.")
    history = held.table("jobs")
    options: JsonObject = {"column": question.column, "enough": question.enough}
    if question.job is not None:
        told = from_fields(question.job, form="job description", where="the job")
        if question.by_profile:
            if held.classifier is None:
                raise Problem(409, "no model tells profiles yet. Run: prophase learn")
            options["predicted"] = held.profiler, held.classifier
        rows, alike = rank_for_job(history, dict(told.columns), **options)
    elif question.profile is not None:
        chosen, alike = jobs_of_profile(held.profiler, history, question.profile)
        rows = rank_node_types(chosen, **options)
    else:
        rows, alike = rank_node_types(history, **options), f"all {len(history):,} jobs"
    told_rows = [finite(row) for row in rows]
    origin = held.tables["jobs"].source_hash
    return with_provenance({"alike": alike, "node_types": told_rows}, data_hash=origin)
