"""Long work: replays, comparisons, sizes, learning, watching; each a task to follow or cancel."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from prophase.json_types import JsonObject
from prophase.serve.background.task_rows import BackgroundTask
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.dependencies import Caller, LoadedWorkspaceNow, TasksNow, WhoAsks, require
from prophase.serve.guard.authentication import AuthenticatedCaller
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.problems import Problem, failed_task
from prophase.sizing.resources import SMALLEST_GIB

router = APIRouter(route_class=JsonRoute, tags=["tasks"])
_READ, _ADMIN = [Depends(require("read"))], [Depends(require("admin"))]

TaskId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[0-9a-f]+$")]
Wait = Annotated[float, Query(ge=0, le=50, description="Seconds to wait for the result.")]
Word = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_:.\-]+$")]
Short = Annotated[str, Field(min_length=1, max_length=300)]
#: how a route that begins a task answers
LATER: JsonObject = {
    "status_code": 202,
    "responses": {
        200: {
            "description": "The task has ended within `wait` seconds. One that fails "
            "meanwhile is a problem, with the status and the words of any that cannot be answered."
        }
    },
}
#: tasks that may wait for their turn, of all and of one caller
_MOST_WAITING, _MOST_OF_ONE = 20, 10


class PolicyRequest(BaseModel):
    """A cluster and who goes first on it."""

    model_config = ConfigDict(extra="forbid")

    cluster: Short | None = None
    order: Word = "fifo"
    place: Word = "best_fit"
    queue: Literal["skip", "strict", "easy", "conservative"] = "skip"
    estimate: Word = "time_limit_s"
    leave_out_unfit: bool = False


class ReplayRequest(PolicyRequest):
    """One replay."""

    by: Word | None = None
    depends: Annotated[
        Word | None, Field(description="Column with the ids of the jobs that a job waits for.")
    ] = None
    noise: Annotated[float, Field(ge=0, le=10)] = 0.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 42


class WhatIf(PolicyRequest):
    """Changes, each compared with the baseline on the same jobs."""

    add: Annotated[list[Short], Field(max_length=20)] = []
    remove: Annotated[list[Short], Field(max_length=20)] = []
    load: Annotated[list[Annotated[float, Field(gt=0, le=100)]], Field(max_length=20)] = []
    policy: Annotated[list[Word], Field(max_length=20)] = []
    sharing: bool | None = None
    combine: bool = False
    target: Short | None = None
    measure: Word = "mean_wait_s"
    seeds: Annotated[int, Field(ge=2, le=200)] = 10
    block_h: Annotated[float, Field(gt=0, le=1_000)] | None = None


class WhyRequest(PolicyRequest):
    """What jobs wait for."""

    by: Word = "class"
    blame_by: Word | None = None
    short_below_s: Annotated[float, Field(gt=0, le=1e9)] = 3600.0
    only_shares: bool = False
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 42


class ValidateRequest(PolicyRequest):
    """How well a replay meets the recorded waits."""

    by: Word = "class"
    clocks: Annotated[int, Field(ge=0, le=100)] = 0
    warm_up_s: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class NewJob(BaseModel):
    """What a job that is submitted now asks for, per instance."""

    model_config = ConfigDict(extra="forbid")

    request_gpus: Annotated[float, Field(ge=0, le=1e6)] | None = None
    request_cpu_cores: Annotated[float, Field(ge=0, le=1e9)] | None = None
    request_memory_gib: Annotated[float, Field(ge=0, le=1e9)] | None = None
    instances: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    user: Short | None = None
    gpu_type: Short | None = None
    time_limit_s: Annotated[float, Field(gt=0, le=1e9)] | None = None


class EtaRequest(PolicyRequest):
    """When a job will start: one that waits, or one that is submitted now."""

    job: Short | None = None
    new_job: NewJob | None = None
    now_s: Annotated[float, Field(ge=-1e12, le=1e12)] | None = None
    draws: Annotated[int, Field(ge=10, le=1_000)] = 100
    check: Annotated[int, Field(ge=0, le=200)] = 15
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0

    @model_validator(mode="after")
    def _names_one_job(self) -> Self:
        if (self.job is None) == (self.new_job is None):
            raise ValueError("name a waiting job (job), or what a new one asks for (new_job)")
        return self


class QueueingRequest(BaseModel):
    """A model of queueing theory and what it needs, as the command takes it."""

    model_config = ConfigDict(extra="forbid")

    model: Word
    arrivals: Short | None = None
    service: Short | None = None
    servers: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    arrival_scv: Annotated[float, Field(ge=0, le=1e6)] | None = None
    service_scv: Annotated[float, Field(ge=0, le=1e6)] | None = None
    approximation: Word | None = None
    capacity: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    goal: Short | None = None
    over: Annotated[list[Short], Field(max_length=20)] = []
    classes: Annotated[list[Short], Field(max_length=20)] = []
    preemptive: bool = False
    resource: Literal["gpus", "cores", "jobs"] = "gpus"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    cluster: Short | None = None
    queue: Literal["skip", "strict", "easy", "conservative"] = "skip"


class SweepRequest(BaseModel):
    """All combinations of policies, clusters and loads."""

    model_config = ConfigDict(extra="forbid")

    cluster: Annotated[list[Short], Field(max_length=20)] = []
    order: Annotated[list[Word], Field(max_length=20)] = []
    place: Annotated[list[Word], Field(max_length=20)] = []
    queue: Annotated[list[Word], Field(max_length=4)] = []
    load: Annotated[
        list[Annotated[float, Field(gt=0, le=100)]], Field(min_length=1, max_length=20)
    ] = [1.0]
    sharing: Annotated[list[Literal["on", "off"]], Field(min_length=1, max_length=2)] = ["on"]
    seeds: Annotated[int, Field(ge=0, le=200)] = 10
    block_h: Annotated[float, Field(gt=0, le=1_000)] | None = None
    measure: Annotated[list[Word], Field(max_length=10)] = []
    leave_out_unfit: bool = False


class SizeRequest(BaseModel):
    """What tasks should ask for."""

    model_config = ConfigDict(extra="forbid")

    risk: Annotated[float, Field(ge=0, lt=1)] = 0.01
    resource: Literal["auto", "memory", "cpu", "gpu-memory", "gpu", "time"] = "auto"
    min_runs: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    min_saving: Annotated[float, Field(ge=0, lt=1)] = 0.0
    max_oom: Annotated[float | None, Field(ge=0, lt=1)] = None
    prior: Literal["none", "kind", "tenant"] = "none"
    min_memory_gib: Annotated[float, Field(ge=0, le=1e6)] = SMALLEST_GIB


class Learning(BaseModel):
    """What is trained."""

    model_config = ConfigDict(extra="forbid")

    targets: Annotated[list[Word], Field(min_length=1, max_length=100)] | None = None
    method: Word = "default"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class Starter:
    """Begins a task over the jobs of the workspace, for whoever asks."""

    def __init__(
        self,
        tasks: TasksNow,
        held: LoadedWorkspaceNow,
        who: Caller,
        response: Response,
        wait: Wait = 0.0,
    ) -> None:
        self._tasks, self._held, self._who = tasks, held, who
        self._response, self._wait = response, wait

    async def begin(self, kind: str, wanted: BaseModel) -> JsonObject:
        """Start it and answer as :func:`begin` does; refuse if there are no jobs."""
        workspace = self._held.workspace
        # what was imported a moment ago may not be loaded yet, and tasks read the files again
        if "jobs" not in self._held.tables and "jobs" not in workspace.tables:
            name = workspace.folder.name
            raise Problem(409, f"{name}: has no jobs yet. Import some: POST /v1/import")
        arguments = wanted.model_dump()
        await asyncio.to_thread(_refuse_unknown, kind, arguments)
        return await begin(self._tasks, kind, arguments, self._who, self._response, self._wait)


def _refuse_unknown(kind: str, asked: JsonObject) -> None:
    """Refuse words that no jobs could make sense of, before a task is begun for them."""
    from prophase.sim.cluster import Cluster
    from prophase.sim.cluster_variants import cluster_named
    from prophase.sim.policies import named, order_policies, place_policies
    from prophase.sim.whatif.scenarios import policy_of
    from prophase.sim.whatif.smallest_cluster import parse_wait_target

    def words(name: str) -> list[str]:
        given = asked.get(name)
        return [given] if isinstance(given, str) else given or []

    policies = [policy_of(text) for text in words("policy")]
    for order in [*words("order"), *(policy["order"] for policy in policies)]:
        if not order.startswith("column:"):
            named(order, order_policies(), "order")
    for place in [*words("place"), *(one["place"] for one in policies if "place" in one)]:
        named(place, place_policies(), "place")
    for text in words("cluster"):
        # only the trace knows its own nodes
        if kind != "sweep":
            Cluster.parse(text)
        elif not text.strip().startswith("own"):
            cluster_named(text)
    for text in words("target"):
        parse_wait_target(text)


StarterNow = Annotated[Starter, Depends()]


@router.post("/simulate", dependencies=_READ, **LATER)
async def simulate(
    wanted: Annotated[ReplayRequest, Body(examples=[{"cluster": "20x8", "order": "shortest"}])],
    starter: StarterNow,
) -> JsonObject:
    """Replay the workspace's jobs on a cluster. The result is that of `prophase simulate`."""
    return await starter.begin("simulate", wanted)


@router.post("/whatif", dependencies=_READ, **LATER)
async def whatif(
    wanted: Annotated[
        WhatIf, Body(examples=[{"cluster": "20x8", "add": ["4x8"], "load": [1.3], "seeds": 10}])
    ],
    starter: StarterNow,
) -> JsonObject:
    """Compare changes with a baseline. The result is that of `prophase whatif`."""
    return await starter.begin("whatif", wanted)


@router.post("/why", dependencies=_READ, **LATER)
async def why(
    wanted: Annotated[WhyRequest, Body(examples=[{"cluster": "20x8", "queue": "strict"}])],
    starter: StarterNow,
) -> JsonObject:
    """Say what removing each cause of waiting saves. The result is that of `prophase why`."""
    return await starter.begin("why", wanted)


@router.post("/validate", dependencies=_READ, **LATER)
async def validate(
    wanted: Annotated[ValidateRequest, Body(examples=[{"cluster": "20x8", "queue": "easy"}])],
    starter: StarterNow,
) -> JsonObject:
    """Compare replayed with recorded waits. The result is that of `prophase validate`."""
    return await starter.begin("validate", wanted)


@router.post("/eta", dependencies=_READ, **LATER)
async def eta(
    wanted: Annotated[EtaRequest, Body(examples=[{"job": "4711", "queue": "easy"}])],
    starter: StarterNow,
) -> JsonObject:
    """Say when a job will start. The result is that of `prophase eta`."""
    return await starter.begin("eta", wanted)


@router.post("/queueing", dependencies=_READ, **LATER)
async def queueing(
    wanted: Annotated[
        QueueingRequest,
        Body(examples=[{"model": "mmc", "arrivals": "45/s", "service": "1s", "servers": 50}]),
    ],
    starter: StarterNow,
) -> JsonObject:
    """Ask queueing theory. The result is that of `prophase queueing`."""
    return await starter.begin("queueing", wanted)


@router.post("/sweep", dependencies=_READ, **LATER)
async def sweep(
    wanted: Annotated[
        SweepRequest, Body(examples=[{"cluster": ["20x8"], "order": ["fifo", "shortest"]}])
    ],
    starter: StarterNow,
) -> JsonObject:
    """Rank combinations of policies, clusters and loads. The result is that of `prophase sweep`."""
    return await starter.begin("sweep", wanted)


@router.post("/size", dependencies=_READ, **LATER)
async def size(
    wanted: Annotated[SizeRequest, Body(examples=[{"risk": 0.01, "resource": "memory"}])],
    starter: StarterNow,
) -> JsonObject:
    """Say what each task should ask for. The result is that of `prophase size recommend`."""
    return await starter.begin("size", wanted)


@router.post("/learn", dependencies=_ADMIN, **LATER)
async def learn(
    wanted: Annotated[Learning, Body(examples=[{"method": "default"}])],
    starter: StarterNow,
) -> JsonObject:
    """Retrain all models, as `prophase learn` does; the service loads them."""
    return await starter.begin("learn", wanted)


@router.get("/tasks", dependencies=_READ)
def all_tasks(tasks: TasksNow) -> list[JsonObject]:
    """List tasks without their results, the latest first."""
    return [task.to_dict(whole=False) for task in tasks.all()]


@router.get("/tasks/{task}", dependencies=_READ)
async def one_task(task: TaskId, tasks: TasksNow, wait: Wait = 0.0) -> JsonObject:
    """Tell where a task is, and its result when it is done."""
    return (await ended(tasks, task, wait)).to_dict()


@router.delete("/tasks/{task}", dependencies=_READ)
def cancel(task: TaskId, tasks: TasksNow, who: WhoAsks, request: Request) -> JsonObject:
    """Cancel a task that you began, or any as admin; one that has ended stays as it is."""
    request.state.audit = {"task": task}
    return cancelled(tasks, task, who).to_dict(whole=False)


def cancelled(tasks: BackgroundTasks, task: str, who: AuthenticatedCaller) -> BackgroundTask:
    """Cancel a task for whoever began it, or for an admin; nobody else may."""
    found = tasks.get(task)
    if who.role != "admin" and found.started_by != who.name:
        raise Problem(
            403,
            f"the task {task} was begun by {found.started_by!r}. Who began a task may cancel it, "
            "and a token with the role admin.",
        )
    return tasks.cancel(task)


async def begin(
    tasks: BackgroundTasks,
    kind: str,
    arguments: JsonObject,
    who: str,
    response: Response,
    wait: float,
) -> JsonObject:
    """Start a task and answer 202, or 200 with its result if that comes soon enough.

    One that fails meanwhile is the problem that it would be without a task.
    """
    listed = await asyncio.to_thread(tasks.all)
    going = [task.started_by for task in listed if not task.ended]
    if len(going) >= _MOST_WAITING:
        words = f"{len(going)} tasks are waiting or running. Cancel one, or try again later."
        raise Problem(503, words, {"retry-after": "30"})
    if going.count(who) >= _MOST_OF_ONE:
        words = f"{going.count(who)} tasks of yours are waiting or running. Cancel one, or wait."
        raise Problem(429, words, {"retry-after": "30"})
    started = await asyncio.to_thread(tasks.start, kind, arguments, who)
    response.headers["location"] = f"/v1/tasks/{started.id}"
    task = await ended(tasks, started.id, wait)
    if task.state == "failed":
        raise failed_task(str(task.error), task.code, response.headers["location"])
    response.status_code = 200 if task.ended else 202
    return task.to_dict()


async def ended(tasks: BackgroundTasks, task: str, wait: float) -> BackgroundTask:
    """Return a task when it has ended, or after ``wait`` seconds."""
    until = time.monotonic() + wait
    found = await asyncio.to_thread(tasks.get, task)
    while not found.ended and time.monotonic() < until:
        await asyncio.sleep(0.1)
        found = await asyncio.to_thread(tasks.get, task)
    return found
