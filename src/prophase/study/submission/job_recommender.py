"""Recommendations for one job at a time from what a workspace has learned."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from prophase.errors import ProphaseError
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.job_forecast.forecast import JobForecast, TargetForecast, say
from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.submission.submission import Submission, from_fields
from prophase.sizing.job_request import RequestRecommendation
from prophase.sizing.recommender import SIZED, TOLD, Recommender

if TYPE_CHECKING:
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.predict.job_model import JobModel


@dataclass(frozen=True)
class JobRecommendation:
    """Everything that is predicted and recommended for a job at submission."""

    name: str
    #: prediction of its duration and use; None if no model answers
    advice: JobForecast | None
    requests: tuple[RequestRecommendation, ...]
    #: what is not known, and why
    silent: tuple[str, ...] = ()

    @property
    def duration(self) -> TargetForecast | None:
        """Return the expected duration, if there is an answer."""
        if self.advice is None:
            return None
        found = next((one for one in self.advice.targets if one.target == "duration_s"), None)
        return None if found is None or found.abstained else found

    @property
    def profile(self) -> str | None:
        """Return the profile, if the job's metadata tell it."""
        held = self.advice.profile if self.advice is not None else None
        return None if held is None or held.profile == "unknown" else held.profile

    def of(self, resource: str) -> RequestRecommendation | None:
        """Return the recommendation for one resource."""
        return next((one for one in self.requests if one.resource == resource), None)

    def words(self) -> list[str]:
        """Return everything as sentences."""
        told = []
        one = self.duration
        if one is not None:
            low, high = say(one.target, one.low), say(one.target, one.high)
            runs = f"runs about {say(one.target, one.value)} (90 %: {low} to {high})"
            if one.in_words and self.advice is not None:
                runs = f"of such jobs {one.shape(self.advice.job.get('time_limit_s'))}"
            told.append(f"{runs}, {one.confidence} confidence: {one.reason}")
        if self.profile is not None and self.advice is not None and self.advice.profile:
            told.append(f"profile {self.profile} ({self.advice.profile.probability:.0%} sure)")
        return [*told, *(one.words() for one in self.requests), *self.silent]

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        one, advice = self.duration, self.advice
        return {
            "name": self.name,
            "duration_s": None if one is None else {
                **one.predicted.value_and_ends(),
                "confidence": one.confidence, "reason": one.reason,
            },
            "profile": None if self.profile is None or advice is None or advice.profile is None
            else {"name": self.profile, "probability": advice.profile.probability},
            "requests": [held.to_dict() for held in self.requests],
            "silent": list(self.silent),
        }  # fmt: skip


@dataclass(frozen=True)
class JobRecommender:
    """Gives recommendations from what was learnt; each part may be absent.

    Parameters
    ----------
    model : JobModel, optional
        Predicts duration and use.
    classifier : ProfileClassifier, optional
        Names the profile.
    requests : Recommender, optional
        What jobs should ask for.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.sizing.recommender import learn_recommender
    >>> jobs = pd.DataFrame({"task": ["align"] * 40, "memory_peak_gib": 2.0, "duration_s": 600.0})
    >>> jobs = jobs.assign(job_id=range(40), request_memory_gib=16.0)
    >>> found = JobRecommender(requests=learn_recommender(jobs)).counsel(
    ...     {"task": "align", "memory": 16}
    ... )
    >>> found.of("memory").words()
    'memory: 2.3 GiB instead of 16 GiB: 40 runs used at most 12% of the request'
    """

    model: JobModel | None = None
    classifier: ProfileClassifier | None = None
    requests: Recommender | None = None

    def counsel(
        self, job: Submission | JsonMapping, *, resources: Sequence[str] = SIZED
    ) -> JobRecommendation:
        """Return what to tell a job; parts that do not know it are silent and say why."""
        submission = (
            job
            if isinstance(job, Submission)
            else from_fields(job, form="job description", where="the job")
        )
        silent: list[str] = []
        advice = self._advice(submission, silent)
        found = self._requests(submission, resources, silent)
        return JobRecommendation(submission.name, advice, found, tuple(silent))

    def _advice(self, job: Submission, silent: list[str]) -> JobForecast | None:
        if self.model is None:
            silent.append("no prediction: nothing was learnt yet (prophase learn).")
            return None
        # the duration is what is told; what a job uses is in its requests
        targets = ["duration_s"] if "duration_s" in self.model.targets else self.model.targets[:1]
        try:
            return ask(self.model, job, targets=targets, classifier=self.classifier, brief=True)
        except ProphaseError as error:
            silent.append(f"no prediction: {error}")
            return None

    def _requests(
        self,
        job: Submission,
        resources: Sequence[str],
        silent: list[str],
    ) -> tuple[RequestRecommendation, ...]:
        if self.requests is None:
            silent.append("no request is recommended: nothing was learnt yet (prophase learn).")
            return ()
        for name in resources:
            if name not in self.requests.by_resource:
                why = self.requests.silent.get(name, f"{name} was not sized")
                silent.append(f"no {name} is recommended: {why.partition('. ')[0].rstrip('.')}.")
        # the part of a GPU is told where all is asked for
        told = (TOLD,) if tuple(resources) == SIZED else ()
        return tuple(self.requests.recommend(job.columns, (*resources, *told)))


class RecommendsForJob(Protocol):
    """Anything that gives recommendations."""

    def counsel(
        self, job: Submission | JsonMapping, *, resources: Sequence[str] = SIZED
    ) -> JobRecommendation:
        """Return what to tell a job."""
        ...


class CachedJobRecommender:
    """Gives the same recommendation to the same job from a cache: jobs come in bursts.

    Parameters
    ----------
    counsellor : JobRecommender
        Who thinks.
    most : int, default=4096
        Answers that are remembered; the one not asked for longest is forgotten first.
    """

    def __init__(self, counsellor: JobRecommender, most: int = 4096) -> None:
        self.counsellor, self.most = counsellor, most
        self._held: OrderedDict[tuple[Any, ...], JobRecommendation] = OrderedDict()
        self._lock = threading.Lock()

    def counsel(
        self, job: Submission | JsonMapping, *, resources: Sequence[str] = SIZED
    ) -> JobRecommendation:
        """Return what to tell a job."""
        if not isinstance(job, Submission):
            return self.counsellor.counsel(job, resources=resources)
        columns = tuple(sorted((name, str(value)) for name, value in job.columns.items()))
        key = (columns, tuple(resources), job.notes)
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
                return found
        made = self.counsellor.counsel(job, resources=resources)
        with self._lock:
            self._held[key] = made
            if len(self._held) > self.most:
                self._held.popitem(last=False)
        return made
