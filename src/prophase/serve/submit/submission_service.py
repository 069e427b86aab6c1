"""The desk where submissions come in: policy, counsellor, attempts, events and counters."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Histogram

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.serve.loaded_workspace import LoadedWorkspace, Stamp, WorkspaceCache
from prophase.serve.submit.kubernetes_account import ClusterAccount
from prophase.serve.submit.kubernetes_events import Events
from prophase.serve.submit.kubernetes_limit_ranges import NO_BOUNDS, LimitRanges, RequestBounds
from prophase.serve.submit.pods import PodAttempts
from prophase.serve.submit.policy import SubmitPolicy, SubmitRules, misplaced_policies
from prophase.serve.submit.slurm_answers import SlurmAnswersFile
from prophase.study.submission.job_recommender import (
    CachedJobRecommender,
    JobRecommendation,
    JobRecommender,
)
from prophase.trace.service_database import ServiceDatabase
from prophase.trace.workspace import SETTINGS

T = TypeVar("T")
log = logging.getLogger("prophase.serve")
_THREADS, _REMEMBERED = 4, 200
_EDGES = (0.002, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)
#: how often the settings file is looked at
_LOOK_EVERY_S = 1.0
#: what job_submit.lua says it did
_SLURM_OUTCOMES = (
    "set", "set from table", "set from memory", "told", "annotated", "dry-run", "off", "skipped",
    "opted out", "away", "late", "failed",
)  # fmt: skip
#: models without which no request is set
_SETTING = ("predictions", "requests")
_OFF = SubmitPolicy(SubmitRules(mode="off"))


class PolicyFile:
    """The policy in the settings of a workspace, read again when they have changed."""

    def __init__(self, library: WorkspaceCache) -> None:
        self._library = library
        self._policy, self._stamp, self._looked_s = _OFF, _stamp(None), -_LOOK_EVERY_S
        self._looking = threading.Lock()

    def read(self) -> SubmitPolicy:
        """Return the policy as it is now."""
        with self._looking:
            now = time.monotonic()
            if now - self._looked_s >= _LOOK_EVERY_S:
                self._looked_s = now
                found = _stamp(self._library.workspace.folder / SETTINGS)
                if found != self._stamp:
                    self._stamp = found
                    try:
                        self._policy = SubmitPolicy.of(self._library.workspace.settings)
                    except ProphaseError as error:
                        log.error("the policy for submissions is not used: %s", error)
                        self._policy = _OFF
            held = self._library.now
            damaged = any(name in held.broken and name not in held.models for name in _SETTING)
            return replace(self._policy, most="annotate") if damaged else self._policy


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
        account = ClusterAccount.of_cluster()
        self._limit_ranges = None if account is None else LimitRanges(account)
        self._base = _database_of(library.workspace.folder)
        self.attempts = PodAttempts(self._base)
        self.workers = ThreadPoolExecutor(_THREADS, thread_name_prefix="submit")
        self.decisions: deque[JsonObject] = deque(maxlen=_REMEMBERED)
        #: set once a first recommendation was made, or could not be
        self.warm = threading.Event()
        self._outcomes = Counter(
            "prophase_submissions",
            "Submissions seen, by what was done.",
            ["system", "outcome"],
            registry=registry,
        )
        self._slurm_jobs = Counter(
            "prophase_slurm_jobs",
            "Jobs that Slurm's plugin saw, by what it did; reported with its questions.",
            ["outcome"],
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
        self._policy = PolicyFile(library)
        self._counsellor: tuple[LoadedWorkspace, CachedJobRecommender, CachedJobRecommender] | None
        self._counsellor = None
        # with a look of its own at the settings: it must not hide a change from who asks next
        self.slurm_answers = SlurmAnswersFile(library, PolicyFile(library).read)

    @property
    def policy(self) -> SubmitPolicy:
        """Return the policy as the settings file has it; one that is broken changes nothing.

        While the file of a model that requests depend on is damaged, requests are left alone and
        objects are annotated at most.
        """
        return self._policy.read()

    @property
    def counsellor(self) -> CachedJobRecommender:
        """Return the recommender of what is loaded now."""
        return self._loaded[1]

    @property
    def sizer(self) -> CachedJobRecommender:
        """Return the same without predictions, for those who only want to know requests."""
        return self._loaded[2]

    @property
    def _loaded(self) -> tuple[LoadedWorkspace, CachedJobRecommender, CachedJobRecommender]:
        held, before = self.library.now, self._counsellor
        if before is not None and before[0] is held:
            return before
        requests = held.models.get("requests")
        whole = JobRecommender(held.models.get("predictions"), held.classifier, requests)
        sizer = JobRecommender(requests=requests)
        self._counsellor = (held, CachedJobRecommender(whole), CachedJobRecommender(sizer))
        return self._counsellor

    def bounds_of(self, namespace: str) -> RequestBounds:
        """Return the smallest requests that a namespace of our cluster allows."""
        return NO_BOUNDS if self._limit_ranges is None else self._limit_ranges.of(namespace)

    def warm_up(self) -> None:
        """Make a first recommendation for nobody, so that the first real one is quick."""
        self.slurm_answers.start()
        try:
            self.attempts.forget_old()
            self.counsellor.counsel({"user": "nobody", "memory": 1})
        except Exception:
            # whatever is wrong is reported with the first submission
            log.exception("the desk for submissions did not warm up")
        finally:
            self.warm.set()

    def count(self, system: str, outcome: str, seconds: float) -> None:
        """Count a submission."""
        self._outcomes.labels(system, outcome).inc()
        self._seconds.labels(system).observe(seconds)

    def count_slurm(self, done: Mapping[str, int]) -> None:
        """Count what the plugin of slurmctld did; words it does not have count as one."""
        for outcome, jobs in done.items():
            word = outcome if outcome in _SLURM_OUTCOMES else "other"
            self._slurm_jobs.labels(word).inc(jobs)

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
        self.slurm_answers.close()
        self.workers.shutdown(wait=False, cancel_futures=True)
        if self._limit_ranges is not None:
            self._limit_ranges.close()
        if self.events is not None:
            self.events.close()
        if self._base is not None:
            self._base.close()


def _database_of(folder: Path) -> ServiceDatabase | None:
    """Return where attempts are kept; None if that cannot be written, as they can do without."""
    try:
        return ServiceDatabase.of(folder)
    except ProphaseError as error:
        log.warning("attempts of pods are counted by this process alone: %s", error)
        return None


def open_submission_service(
    app: FastAPI, make: Callable[[], Events | None] = Events.of_cluster
) -> SubmissionService:
    """Return the desk of a service; it is set up once."""
    found = getattr(app.state, "desk", None)
    if found is None:
        found = SubmissionService(app.state.library, app.state.metrics.registry, make())
        for sentence in misplaced_policies(app.state.library.workspace.folder):
            log.warning("%s", sentence)
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
