"""Slurm's ``job_submit``: the fields of ``job_desc`` in, those to change out.

The plugin in ``deploy/slurm/job_submit.lua`` calls it over HTTP; other ways to ask are as welcome,
with the same fields or with a whole batch script.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase import units
from prophase.errors import InputError, ProphaseError
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.slurm_job_desc import (
    from_job_desc,
    memory_form,
    memory_mib_per_cpu,
    memory_mib_per_gpu,
    takes_whole_nodes,
)
from prophase.profile.submission.slurm_script import from_script, is_script, script_options
from prophase.profile.submission.submission import Submission
from prophase.serve.dependencies import require
from prophase.serve.json_bodies import DocumentRoute
from prophase.serve.submit.policy import MODES, Mode, SubmitRules
from prophase.serve.submit.submission_service import SubmissionService, submission_service_of
from prophase.serve.tracing import carried, span
from prophase.sizing.job_request import RequestRecommendation
from prophase.study.submission.job_recommender import JobRecommendation
from prophase.study.submission.sbatch import GPU_OPTIONS, recommended_options

router = APIRouter(
    route_class=DocumentRoute, tags=["submit"], dependencies=[Depends(require("read"))]
)

_EXAMPLE = {
    "job": {
        "name": "train", "user_name": "ann", "account": "nlp", "partition": "gpu",
        "min_nodes": 1, "cpus_per_task": 8, "pn_min_memory": 65536, "time_limit": 480,
        "tres_per_node": "gres:gpu:a100:1",
    },
    "attempt": 1,
}  # fmt: skip


class SlurmQuestion(BaseModel):
    """A job as job_submit sees it, or its batch script."""

    model_config = ConfigDict(extra="forbid")

    #: fields of job_desc; those that are not set may be left out. Beside a script they fill in
    #: what it leaves out: user_name, account, partition
    job: JsonObject = Field(default_factory=dict)
    #: a batch script in place of its fields
    script: Annotated[str, Field(max_length=4 << 20)] | None = None
    #: higher after a kill: the next rung is recommended
    attempt: Annotated[int, Field(ge=1, le=100)] = 1
    #: leave out everything that is not needed to change the job
    brief: bool = False
    #: what the plugin did since its last question, outcome -> jobs
    done: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict, max_length=20)


@router.post("/v1/submit/slurm")
async def advise_slurm(
    question: Annotated[SlurmQuestion, Body(examples=[_EXAMPLE])],
    desk: Annotated[SubmissionService, Depends(submission_service_of)],
) -> JsonObject:
    """Say which fields of job_desc to change; `apply` says whether the policy wants it done.

    `tell` is a line for the user. An answer always comes within the budget; one that would be late
    changes nothing.
    """
    began = time.perf_counter()
    desk.count_slurm(question.done)
    if question.script is None and not question.job:
        # the plugin only reports
        return _nothing("skipped", "the job says nothing")
    budget_s = desk.policy.budget_ms / 1000
    future = desk.workers.submit(carried(_answered), desk, question)
    try:
        answer = await asyncio.wait_for(asyncio.wrap_future(future), timeout=budget_s)
    except TimeoutError:
        # one that was begun goes on: the next question of this kind finds its answer
        future.cancel()
        answer = _nothing("late", f"no answer within {1000 * budget_s:g} ms")
    seconds = time.perf_counter() - began
    desk.count("slurm", answer["outcome"], seconds)
    if answer["outcome"] not in ("off", "skipped"):
        desk.decisions.append(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "system": "slurm",
                "namespace": str(question.job.get("partition") or "")[:300],
                "kind": "job",
                "name": str(question.job.get("name") or "")[:300],
                "outcome": answer["outcome"],
                "reason": answer["reason"],
                "patch": [],
                "ms": round(1000 * seconds, 2),
            }
        )
    return answer


def _answered(desk: SubmissionService, question: SlurmQuestion) -> JsonObject:
    try:
        submission = _submission(question)
    except ProphaseError as error:
        return _nothing("failed", str(error))
    rules = _rules(desk, submission)
    if rules.mode == "off":
        return _nothing("off", "the policy does not cover this job")
    if not submission.columns:
        return _nothing("skipped", "the job says nothing")
    recommender = desk.sizer if question.brief else desk.counsellor
    with span("decide", mode=rules.mode):
        counsel = recommender.counsel(submission, resources=rules.resources)
    if question.script is None:
        change = _fields(counsel, rules.resources, question.attempt, question.job)
    else:
        change = _options(counsel, rules.resources, question.attempt, question.script)
    apply = rules.mode == "set" and bool(change)
    answer = {
        "apply": apply,
        "job": change,
        "outcome": _outcome(rules.mode, bool(change)),
        "tell": _line(counsel, rules, question.attempt, change),
        "note": _note(counsel, question.job) if apply and question.script is None else "",
        "reason": "; ".join(word.rstrip(".") for word in _words(counsel, question.brief)),
    }
    if not question.brief:
        answer["counsel"] = counsel.to_dict()
    return answer


def _words(counsel: JobRecommendation, brief: bool) -> list[str]:
    return [one.words() for one in counsel.requests] if brief else counsel.words()


def _submission(question: SlurmQuestion) -> Submission:
    if question.script is None:
        return from_job_desc(question.job)
    if not is_script(question.script):
        raise InputError("the script has no #SBATCH lines, so nothing says what it asks for.")
    read = from_script(question.script, "the script")
    filled = from_job_desc({k: v for k, v in question.job.items() if isinstance(v, str)})
    texts = {k: v for k, v in filled.columns.items() if isinstance(v, str)}
    return Submission({**texts, **read.columns}, read.form, read.notes)


def _rules(desk: SubmissionService, job: Submission) -> SubmitRules:
    def text(column: str) -> str:
        return str(job.columns.get(column, ""))

    return desk.policy.rules_for_slurm(
        partition=text("queue"), account=text("group"), user=text("user")
    )


def _fields(
    counsel: JobRecommendation, resources: tuple[str, ...], attempt: int, job: JsonMapping
) -> dict[str, int | str]:
    """Return the fields of job_desc to set, memory in the form the job asks for it."""
    found: dict[str, int | str] = {}
    for one in counsel.requests:
        # without its own number the amount may come from its partition
        if not one.change or one.asked is None or one.resource not in resources:
            continue
        amount = one.rung(attempt)
        if one.resource == "memory" and not takes_whole_nodes(job):
            found |= _memory(one, amount, job)
        elif one.resource == "time":
            found["time_limit"] = max(1, math.ceil(amount / 60 - 1e-9))
        elif one.resource == "gpu" and attempt == 1:
            # after a kill a job gets the GPUs that it asked for
            found |= _gpus(one, job)
    return found


#: fields that ask for GPUs, and one number of one kind of them: ``gres:gpu:a100:2``
_GPU_FIELDS = ("tres_per_node", "tres_per_job", "tres_per_socket", "tres_per_task", "gres")
_GPUS = re.compile(r"(?P<before>gres[:/])?gpu(?P<kind>:[A-Za-z][\w.-]*)?(?:[:=](?P<count>\d+))?")


def _gpus(one: RequestRecommendation, job: JsonMapping) -> dict[str, int | str]:
    """Return the field that asks for a part of a GPU, or for fewer; nothing if it cannot be told.

    Examples
    --------
    >>> from prophase.sizing.gpu_grants import GpuGrant
    >>> part = GpuGrant(0.25, "", slurm="shard:2")
    >>> one = RequestRecommendation("gpu", "request_gpus", 1.0, (0.25, 1.0), "", "t", part=part)
    >>> _gpus(one, {"tres_per_node": "gres/gpu:1"}), _gpus(one, {"tres_per_node": "gres:gpu:2"})
    ({'tres_per_node': 'gres/shard:2'}, {})
    """
    named = [name for name in _GPU_FIELDS if "gpu" in str(job.get(name) or "")]
    asked = _GPUS.fullmatch(str(job[named[0]])) if len(named) == 1 else None
    if asked is None or int(asked["count"] or 1) != one.asked:
        return {}
    before, first = asked["before"] or "", one.ladder[0]
    if first >= 1:
        return {named[0]: f"{before}gpu{asked['kind'] or ''}:{math.ceil(first - 1e-6)}"}
    given = "" if one.part is None else one.part.slurm
    # shards and MPS can be asked for per node alone
    possible = given.startswith("gpu:") or (given and named[0] in ("tres_per_node", "gres"))
    return {named[0]: f"{before}{given}"} if possible and one.asked == 1 else {}


def _memory(one: RequestRecommendation, amount: float, job: JsonMapping) -> dict[str, int | str]:
    form = memory_form(job)
    share = amount / (one.asked or amount)
    if form == "min_mem_per_cpu":
        return {form: math.ceil(memory_mib_per_cpu(job) * share - 1e-6)}
    per_gpu = memory_mib_per_gpu(job)
    if form == "mem_per_tres" and per_gpu is not None:
        whole = math.ceil(per_gpu * share - 1e-6)
        return {form: str(job["mem_per_tres"]).replace(f"{per_gpu:.0f}", str(whole))}
    return {"pn_min_memory": units.whole_mib(amount)}


def _options(
    counsel: JobRecommendation, resources: tuple[str, ...], attempt: int, script: str
) -> dict[str, int | str]:
    """Return the options of sbatch to set."""
    advised, _ = recommended_options(counsel, script_options(script, "the script"), attempt=attempt)
    kept = () if "gpu" in resources else GPU_OPTIONS
    return {one.option: one.value for one in advised if one.option not in kept}


def _line(
    counsel: JobRecommendation, rules: SubmitRules, attempt: int, change: Mapping[str, object]
) -> str:
    """Return one line for the user: what was changed, or should be, and why."""
    if not change or rules.mode == "dry-run":
        return ""
    of = {"time_limit": "time", "time": "time", "cpus-per-task": "cpu"}
    of |= dict.fromkeys((*_GPU_FIELDS, *GPU_OPTIONS), "gpu")
    touched = {of.get(name, "memory"): value for name, value in change.items()}
    said = []
    for one in counsel.requests:
        if one.resource not in touched or one.resource == "cpu" or one.asked is None:
            continue
        if one.resource == "gpu":
            said.append(f"{touched['gpu']} instead of {one.asked:g} GPUs ({one.why})")
            continue
        show = units.memory if one.resource == "memory" else units.duration
        said.append(
            f"{one.resource} {show(one.rung(attempt))} instead of {show(one.asked)} ({one.why})"
        )
    if not said:
        return ""
    hint = (
        "; to keep your request: --comment=prophase=off"
        if rules.mode == MODES[-1]
        else "; nothing was changed"
    )
    return " ".join("; ".join(said).split()) + hint


def _note(counsel: JobRecommendation, job: JsonMapping) -> str:
    """Return the ladders for the admin comment: what was asked for, then every attempt's request.

    Memory is in MiB, per CPU if the job asks for it so, else per node; time in minutes.
    """
    said = []
    for one in counsel.requests:
        if not one.change or one.asked is None or one.resource in ("cpu", "gpu"):
            continue
        if one.resource == "time":
            factor = 1.0 / 60.0
        elif takes_whole_nodes(job):
            continue
        elif memory_form(job) == "min_mem_per_cpu":
            factor = memory_mib_per_cpu(job) / one.asked
        else:
            factor = 1024.0
        rungs = ", ".join(f"{math.ceil(rung * factor - 1e-6)}" for rung in one.ladder)
        said.append(f"{one.resource} {one.asked * factor:.0f} -> {rungs}")
    return f"prophase: {'; '.join(said)}" if said else ""


def _outcome(mode: Mode, change: bool) -> str:
    if mode == "dry-run":
        return "dry-run"
    return "set" if mode == MODES[-1] and change else "annotated"


def _nothing(outcome: str, words: str) -> JsonObject:
    return {
        "apply": False, "job": {}, "outcome": outcome, "tell": "", "note": "", "reason": words,
        "counsel": None,
    }  # fmt: skip
