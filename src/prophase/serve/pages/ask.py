"""Ask: a form about a job; the answer with its range and its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from prophase import units
from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.profile.job_forecast.forecast import JobForecast, say
from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.predict.back_off_keys import FOLDED
from prophase.profile.predict.job_model import JobModel
from prophase.profile.submission.job_file import submissions_in
from prophase.profile.submission.submission import Submission, from_fields
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.forms import form_of
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.number_text import marked, named, unit_of
from prophase.serve.pages.templates import page
from prophase.study.submission.job_recommender import JobRecommender

router = APIRouter()

#: what most people say of a job, in this order; other columns follow
_FIRST = ("user", "group", "queue", "workload", "task", "name", "request_gpus", "gpu_type",
          "request_cpu_cores", "request_memory_gib", "instances", "time_limit_s")  # fmt: skip
#: suggestions per field
_SUGGESTED = 40
#: fields that are shown at once; the rest is behind a summary
_SHOWN = 9
_HINTS = {"request_memory_gib": "such as 16 or 16Gi", "time_limit_s": "such as 2h or 7200"}
_MOST_VALUE = 500


@router.get("/ask")
def ask_form(request: Request, held: LoadedWorkspaceNow) -> Response:
    """Show the form; with fields in the address, the answer too."""
    if "predictions" not in held.models:
        error = held.broken.get("predictions")
        return page(
            request, "empty.html", section="ask", what="predictions", error=str(error or "")
        )
    model = held.model
    given = {
        name: value.strip()[:_MOST_VALUE]
        for name, value in request.query_params.items()
        if name in model.columns and name != FOLDED and value.strip()
    }
    if not given:
        return _form(request, held, given)

    return _answered(
        request, held, given, lambda: from_fields(given, form="form", where="the form")
    )


@router.post("/ask/file")
async def ask_file(request: Request, held: LoadedWorkspaceNow) -> Response:
    """Answer for a job file that was pasted."""
    # browsers end the lines of a form as HTTP does
    text = (await form_of(request)).get("file", "").replace("\r\n", "\n")

    def job() -> Submission:
        return submissions_in(text, "the file")[0]

    return await run_in_threadpool(_answered, request, held, {}, job, text)


def _answered(
    request: Request,
    held: LoadedWorkspace,
    given: Mapping[str, str],
    make: Callable[[], Submission],
    file: str = "",
) -> Response:
    try:
        job = make()
        advice = ask(held.model, job, classifier=held.classifier)
        requests = _requests(held, job)
    except ProphaseError as error:
        return _form(request, held, given, error=str(error), file=file, status=422)
    shown = given or {name: str(value) for name, value in advice.job.items()}
    return _form(request, held, shown, answer={**_told(advice), "requests": requests}, file=file)


def _requests(held: LoadedWorkspace, job: Submission) -> list[JsonObject]:
    """Return what the job should ask for: what sbatch and the plugins are told, too."""
    recommender = JobRecommender(
        held.models.get("predictions"), held.classifier, held.models.get("requests")
    )
    return [
        {
            "name": named(one.column),
            "asked": "–" if one.asked is None else say(one.column, one.asked),
            "recommended": say(one.column, one.rung(1)) if one.change else "stays",
            "mib": units.whole_mib(one.rung(1))
            if one.change and one.resource == "memory"
            else None,
            "why": one.why,
        }
        for one in recommender.counsel(job).requests
    ]


def _form(
    request: Request,
    held: LoadedWorkspace,
    given: Mapping[str, str],
    *,
    answer: JsonObject | None = None,
    error: str = "",
    file: str = "",
    status: int = 200,
) -> Response:
    model = held.model
    fields = held.answer("ask-fields", lambda: _fields(model))
    return page(
        request,
        "ask.html",
        section="ask",
        status=status,
        fields=fields[:_SHOWN],
        more=fields[_SHOWN:],
        given=given,
        answer=answer,
        error=error,
        file=file,
        model=model,
        examples=held.answer("ask-examples", lambda: _examples(model)),
    )


def _fields(model: JobModel) -> list[JsonObject]:
    """Return what the form asks: the columns the model knows, with values seen often."""
    known = [*(name for name in _FIRST if name in model.columns)]
    # a folded name is read off the name
    known += [name for name in model.columns if name not in (*known, "submit_s", FOLDED)]
    fields = []
    for name in known:
        seen = Counter(
            _text(value) for value in model.exemplars.columns.get(name, ()) if value is not None
        )
        fields.append(
            {
                "name": name,
                "label": named(name),
                "unit": unit_of(name),
                "hint": _HINTS.get(name, ""),
                "suggestions": [value for value, _ in seen.most_common(_SUGGESTED)],
            }
        )
    return fields


def _examples(model: JobModel) -> list[dict[str, str]]:
    """Return a few recent jobs, as different as users make them, to begin with."""
    held = model.exemplars.columns
    rows = len(next(iter(held.values()), ()))
    users = held.get("user")
    chosen: dict[str, dict[str, str]] = {}
    for place in range(rows - 1, -1, -1):
        owner = str(users[place]) if users is not None else str(place)
        if owner not in chosen:
            chosen[owner] = {
                name: _text(values[place])
                for name, values in held.items()
                if values[place] is not None and name in _FIRST
            }
        if len(chosen) == 3:
            break
    return list(chosen.values())


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _told(advice: JobForecast) -> JsonObject:
    """Return the answer as the page shows it."""
    targets = [
        {
            "name": named(one.target),
            "target": one.target,
            "abstained": one.abstained,
            "shape": one.shape(advice.job.get("time_limit_s")) if one.in_words else "",
            "value": "no answer" if one.abstained else _said(one.target, one.value),
            "low": _said(one.target, one.low),
            "high": _said(one.target, one.high),
            "confidence": one.confidence,
            "reason": one.reason,
        }
        for one in advice.targets
    ]
    return {
        "name": advice.name,
        "first": targets[0] if targets else None,
        "targets": targets,
        "sizes": [
            {
                "name": named(size.request),
                "asked": "nothing" if size.asked is None else _said(size.request, size.asked),
                "typical": _said(size.request, size.typical),
                "safe": _said(size.request, size.safe),
                "verdict": _verdict(size.asked, size.typical, size.safe),
            }
            for size in advice.sizes
        ],
        "profile": advice.profile,
        "mattered": _mattered(advice),
        "unsure": advice.unsure,
        "learnt_from": advice.learnt_from,
        "method": advice.method,
    }


def _said(column: str, value: float) -> str:
    return marked(say(column, value), value)


def _verdict(asked: float | None, typical: float, safe: float) -> tuple[str, str]:
    if asked is None:
        return "plain", "no request given"
    if asked < typical:
        return "bad", "asks for less than it will probably need"
    if asked < safe:
        return "warning", "may be too little for 1 job of 20"
    if asked > 2 * safe:
        return "warning", f"{asked / safe:.1f} times what 19 of 20 such jobs stay below"
    return "good", "fits"


def _mattered(advice: JobForecast) -> PageChart | None:
    """Return how the first answer changes when one attribute is treated as unknown."""
    first = advice.targets[0] if advice.targets else None
    if first is None or not first.mattered:
        return None
    rows: list[JsonObject] = [
        {
            "name": f"{named(one.column)}: {_text(one.given)}",
            "value": 100 * (one.factor - 1),
            "colour": 1 if one.factor > 1 else 2,
            "note": f"without it the answer would be {say(first.target, one.without)}",
        }
        for one in first.mattered[:8]
    ]
    return bars(
        f"Why: what changes {named(first.target).lower()} most",
        "How much longer (right) or shorter (left) the answer is because of each attribute, "
        "against the same job with that attribute unknown.",
        rows,
        "%",
        most=max(60.0, min(400.0, max(row["value"] for row in rows) * 1.1)),
    )
