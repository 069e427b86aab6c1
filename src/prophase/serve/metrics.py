"""What the service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from prophase.serve.background.task_rows import STATES
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.dependencies import require
from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.serve.model_versions import ModelVersions
from prophase.version import __version__

router = APIRouter(tags=["health"])
#: seconds; the webhook has 0.1, a prediction should take 0.025
_EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics:
    """Counters of one service, each service with its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter(
            "prophase_requests", "Requests answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "prophase_request_seconds",
            "Time to answer.",
            ["method", "route"],
            buckets=_EDGES,
            registry=self.registry,
        )
        self.predictions = Counter(
            "prophase_predictions", "Jobs predicted.", registry=self.registry
        )
        self.feedback = Counter(
            "prophase_feedback",
            "Finished jobs taken, by whether they were new.",
            ["new"],
            registry=self.registry,
        )
        self.reloads = Counter(
            "prophase_reloads", "Times the workspace was reloaded.", registry=self.registry
        )
        self._info = Gauge(
            "prophase_info", "Version of the service.", ["version"], registry=self.registry
        )
        self._info.labels(__version__).set(1)

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        known = method if method in _METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(known, route).observe(seconds)

    def watch_service(
        self,
        library: WorkspaceCache,
        tasks: BackgroundTasks,
        versions: ModelVersions | None = None,
    ) -> None:
        """Add numbers of the service that are looked up when they are asked for."""
        numbers: dict[str, tuple[str, Callable[[], float]]] = {
            "prophase_ready": (
                "1 if jobs can be predicted.",
                lambda: float("predictions" in library.now.models),
            ),
            "prophase_broken_models": (
                "Models whose file is damaged.",
                lambda: len(library.now.broken),
            ),
            "prophase_model_jobs": (
                "Finished jobs that the model has learnt from.",
                lambda: getattr(library.now.models.get("predictions"), "jobs", 0),
            ),
            "prophase_reported_jobs": (
                "Finished jobs that were reported to the service.",
                lambda: library.feedback.count,
            ),
        }
        if versions is not None:
            about = "Version of tables and models that this replica answers from."
            numbers["prophase_model_version"] = (about, lambda: float(versions.number or 0))
        for name, (about, value) in numbers.items():
            Gauge(name, about, registry=self.registry).set_function(value)
        by_state = Gauge("prophase_tasks", "Background tasks.", ["state"], registry=self.registry)
        for state in STATES:
            by_state.labels(state).set_function(partial(tasks.count, state))


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


@router.get("/metrics", dependencies=[Depends(require("read"))], response_class=Response)
def metrics(request: Request) -> Response:
    """Give every counter in the text format of Prometheus."""
    held: Metrics = request.app.state.metrics
    return Response(generate_latest(held.registry), media_type=CONTENT_TYPE_LATEST)
