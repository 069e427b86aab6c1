"""prophase autoscale run: a controller that resizes running pods in place."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import say
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.lazy_imports import optional

if TYPE_CHECKING:
    from prophase.integrations.kubernetes.autoscaler.controller import PodScaler


@dataclass(frozen=True)
class LeaseSettings:
    """Who of several controllers acts."""

    lease: Annotated[
        str, typer.Option(help="Lease that one of several controllers holds; '' for none.")
    ] = "prophase-autoscale"
    lease_seconds: Annotated[
        int, typer.Option(min=2, help="Others take over after this many seconds of silence.")
    ] = 15


def command(
    election: LeaseSettings,
    policy: Annotated[Path, typer.Argument(help="File of prophase autoscale fit.")],
    prometheus: Annotated[
        str, typer.Option(envvar="PROPHASE_PROMETHEUS", help="Address of the Prometheus server.")
    ],
    namespace: Annotated[
        str, typer.Option(envvar="PROPHASE_KUBE_NAMESPACE", help="Namespace of the pods.")
    ] = "default",
    selector: Annotated[
        str, typer.Option(help="Labels of the pods that may be resized.")
    ] = "prophase.dev/autoscale=enabled",
    bounds: Annotated[
        str | None,
        typer.Option(help="Least and most of a pod, e.g. 256Mi..64Gi or 0.1..16 for CPU."),
    ] = None,
    changes_per_hour: Annotated[
        float, typer.Option(min=0, help="Resizes of all pods; raises are never held back.")
    ] = 60.0,
    query: Annotated[
        list[str] | None,
        typer.Option(help="Prometheus: METRIC=EXPRESSION; repeatable."),
    ] = None,
    round_every: Annotated[
        str | None,
        typer.Option(help=f"Time between rounds, {units.DURATION_HELP}. [default: the step]"),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="dry-run (annotate pods with what would be done), set (resize them), or vpa "
            "(write what VerticalPodAutoscalers with the recommender prophase recommend)."
        ),
    ] = "dry-run",
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve metrics at this port.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many rounds. [default: never]")
    ] = None,
) -> None:
    """Resize running pods in place, ahead of what they will use; Ctrl-C stops it.

    Every decision is one line of JSON on stdout and an event of its pod. What was decided is kept
    with the pod, so a controller that is killed goes on where it was. By default it only annotates.

    Examples:

    `prophase autoscale run memory.policy --prometheus http://prometheus:9090`

    `prophase autoscale run memory.policy --namespace ml --bounds 256Mi..64Gi --mode set`

    `prophase autoscale run memory.policy --namespace ml --mode vpa`
    """
    optional("kubernetes", "the controller", "kubernetes")
    from kubernetes.client import CoordinationV1Api, CoreV1Api, CustomObjectsApi

    from prophase.autoscale.live_decision import LiveRules
    from prophase.integrations.kubernetes.api_server import cluster_client
    from prophase.integrations.kubernetes.autoscaler.controller import PodScaler
    from prophase.integrations.kubernetes.autoscaler.leader_lease import LeaderLease
    from prophase.integrations.kubernetes.autoscaler.usage_samples import PrometheusSamples
    from prophase.integrations.kubernetes.autoscaler.vpa_recommender import VpaRecommender
    from prophase.study.phase_scaling import load_policy

    if mode not in ("dry-run", "set", "vpa"):
        raise ParameterError(f"--mode is {mode}. Pass dry-run, set or vpa.")
    dry_run = mode == "dry-run"
    held = load_policy(policy)
    least, most = _bounds(bounds, held.metric)
    client = cluster_client()
    samples = PrometheusSamples(prometheus, namespace, held, _queries(query))
    who = f"{socket.gethostname()}-{os.getpid()}"
    taken = None
    if election.lease:
        taken = LeaderLease(
            CoordinationV1Api(client),
            namespace,
            election.lease,
            who,
            duration_s=election.lease_seconds,
        )
    settings: JsonObject = {
        "rules": LiveRules(least=least, most=most, changes_per_hour=changes_per_hour),
        "selector": selector, "dry_run": dry_run, "lease": taken, "tell": _print,
    }  # fmt: skip
    core = CoreV1Api(client)
    if mode == "vpa":
        objects = CustomObjectsApi(client)
        scaler: PodScaler = VpaRecommender(core, objects, namespace, held, samples, **settings)
    else:
        scaler = PodScaler(core, namespace, held, samples, **settings)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    over = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: over.set())
    word = "would resize (dry run)" if dry_run else "resizes"
    said = f"{word} {held.metric} of pods {selector}"
    if mode == "vpa":
        said = f"recommends {held.metric} to VerticalPodAutoscalers"
    say(f"{held.name} {said} in {namespace} (Ctrl-C stops)")
    if metrics_port is not None:
        say(f"Metrics at port {_serve_metrics(scaler, metrics_port)}")
    every_s = (
        held.step_s
        if round_every is None
        else units.parse_duration(round_every, bare="s", where="--round-every", positive=True)
    )
    most_rounds = float("inf") if rounds is None else rounds
    scaler.run(over, every_s=every_s, clock=time.time, rounds=most_rounds)
    if taken is not None:
        taken.release()


def _print(document: JsonObject) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _bounds(text: str | None, metric: str) -> tuple[float, float]:
    if text is None:
        return 0.0, float("inf")
    low, dots, high = text.partition("..")
    unit = 2.0**30 if metric.endswith("_gib") else 1.0
    try:
        if not dots:
            raise ParameterError("no dots")
        found = (
            units.parse_quantity(low) / unit if low else 0.0,
            units.parse_quantity(high) / unit if high else float("inf"),
        )
    except ParameterError as cause:
        raise ParameterError(
            f"--bounds is {text}. Write least..most in Kubernetes' units, e.g. 256Mi..64Gi."
        ) from cause
    if not 0 <= found[0] <= found[1]:
        raise ParameterError(f"--bounds is {text}, but the least comes first.")
    return found


def _queries(given: list[str] | None) -> dict[str, str]:
    found = {}
    for one in given or ():
        metric, sign, text = one.partition("=")
        if not sign or not metric.strip() or not text.strip():
            raise ParameterError(f"--query is {one}. Write METRIC=PROMQL.")
        found[metric.strip()] = text.strip()
    return found


def _serve_metrics(scaler: PodScaler, port: int) -> int:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = scaler.counters.exposition(leads=scaler.leads).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("", port), Answer)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return int(server.server_address[1])
