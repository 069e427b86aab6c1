"""The desk where submissions come in: policy, counsellor, attempts, events and counters."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Histogram

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.serve.loaded_workspace import LoadedWorkspace, Stamp, WorkspaceCache
from prophase.serve.submit.kubernetes_events import Events
from prophase.serve.submit.pods import PodAttempts
from prophase.serve.submit.policy import SubmitPolicy, SubmitRules
from prophase.study.submission.job_recommender import (
    CachedJobRecommender,
    JobRecommendation,
    JobRecommender,
)
from prophase.trace.workspace import SETTINGS

T = TypeVar("T")
log = logging.getLogger("prophase.serve")
_THREADS, _REMEMBERED = 4, 200
_EDGES = (0.002, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)
#: how often the settings file is looked at
_LOOK_EVERY_S = 1.0
_OFF = SubmitPolicy(SubmitRules(mode="off"))


class SubmissionService:
    """Takes submissions and remembers what was decided.

    Parameters
    ----------
    library : WorkspaceCache
        What is known.
    registry : CollectorRegistry
        Where counters are kept.
    events : Events, optional
        Reports decisions as events of the cluster.
    """

    def __init__(
        self, library: WorkspaceCache, registry: CollectorRegistry, events: Events | None = None
    ) -> None:
        self.library, self.events = library, events
        self.attempts = PodAttempts()
        self.workers = ThreadPoolExecutor(_THREADS, thread_name_prefix="submit")
        self.decisions: deque[JsonObject] = deque(maxlen=_REMEMBERED)
        self._outcomes = Counter(
            "prophase_submissions",
            "Submissions seen, by what was done.",
            ["system", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "prophase_submission_seconds",
            "Time to decide about a submission.",
            ["system"],
            buckets=_EDGES,
            registry=registry,
        )
        self._memory = Counter(
            "prophase_submitted_memory_gib",
            "Memory that submissions asked for, and recommended memory, by outcome.",
            ["what", "outcome"],
            registry=registry,
        )
        self._policy, self._stamp, self._looked_s = _OFF, _stamp(None), -_LOOK_EVERY_S
        self._looking = threading.Lock()
        self._counsellor: tuple[LoadedWorkspace, CachedJobRecommender] | None = None

    @property
    def policy(self) -> SubmitPolicy:
        """Return the policy as the settings file has it; one that is broken changes nothing."""
        with self._looking:
            now = time.monotonic()
            if now - self._looked_s >= _LOOK_EVERY_S:
                self._looked_s = now
                found = _stamp(self.library.workspace.folder / SETTINGS)
                if found != self._stamp:
                    self._stamp = found
                    try:
                        self._policy = SubmitPolicy.of(self.library.workspace.settings)
                    except ProphaseError as error:
                        log.error("the policy for submissions is not used: %s", error)
                        self._policy = _OFF
            return self._policy

    @property
    def counsellor(self) -> CachedJobRecommender:
        """Return the recommender of what is loaded now."""
        held = self.library.now
        before = self._counsellor
        if before is not None and before[0] is held:
            return before[1]
        made = CachedJobRecommender(
            JobRecommender(
                held.models.get("predictions"), held.classifier, held.models.get("requests")
            )
        )
        self._counsellor = (held, made)
        return made

    def warm_up(self) -> None:
        """Make a first recommendation for nobody, so that the first real one is quick."""
        try:
            self.counsellor.counsel({"user": "nobody", "memory": 1})
        except Exception:
            # whatever is wrong is reported with the first submission
            log.exception("the desk for submissions did not warm up")

    def count(self, system: str, outcome: str, seconds: float) -> None:
        """Count a submission."""
        self._outcomes.labels(system, outcome).inc()
        self._seconds.labels(system).observe(seconds)

    def count_memory(self, outcome: str, counsel: JobRecommendation, pods: int) -> None:
        """Count what a submission asked for beside what it should ask for."""
        one = counsel.of("memory")
        if one is not None and one.asked is not None:
            self._memory.labels("asked", outcome).inc(pods * one.asked)
            self._memory.labels("advised", outcome).inc(
                pods * (one.rung(1) if one.change else one.asked)
            )

    def close(self) -> None:
        """Stop the threads."""
        self.workers.shutdown(wait=False, cancel_futures=True)
        if self.events is not None:
            self.events.close()


def open_submission_service(
    app: FastAPI, make: Callable[[], Events | None] = Events.of_cluster
) -> SubmissionService:
    """Return the desk of a service; it is set up once."""
    found = getattr(app.state, "desk", None)
    if found is None:
        found = SubmissionService(app.state.library, app.state.metrics.registry, make())
        app.state.desk = found
    return found


def submission_service_of(request: Request) -> SubmissionService:
    """Return the desk of the service that a request came to."""
    return open_submission_service(request.app)


def _stamp(path: Path | None) -> Stamp:
    if path is None:
        return (-1, -1, -1)
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_mtime_ns, held.st_size, held.st_ino
