"""The controller: looks at pods, asks the policy, and resizes them in place, once per decision.

What was decided is written to the pod before the pod is resized, under the version of the pod
that was looked at. A controller that is killed in between finishes what it had begun; one that is
killed afterwards finds it done.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from prophase.autoscale.live_decision import (
    LiveDecision,
    LiveRules,
    PodNow,
    Samples,
    decide,
)
from prophase.errors import ParameterError, ProphaseError
from prophase.integrations.kubernetes.api_server import api_server_message
from prophase.integrations.kubernetes.autoscaler.pod_view import (
    RESOURCES,
    pod_now,
    quantity,
    resize_patch,
    state_patch,
    would_patch,
)
from prophase.json_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from prophase.autoscale.saved_policy import SavedPolicy
    from prophase.integrations.kubernetes.autoscaler.leader_lease import LeaderLease

log = logging.getLogger("prophase.autoscale")
SELECTOR = "prophase.dev/autoscale=enabled"
_CONFLICT, _NOT_FOUND, _FORBIDDEN = 409, 404, 403
_TRIES, _DAY_S = 3, 86_400.0
#: kills have risen when there are this many, and so many times as many as expected
_FEW_KILLS, _TOO_MANY = 3, 3.0


class PodSamples(Protocol):
    """Whatever knows what pods have used."""

    def runs(self, starts_s: Mapping[str, float], now_s: float) -> dict[str, Samples]:
        """Return the current run of each pod."""
        ...


@dataclass
class Counters:
    """What happened since the start; exported as metrics."""

    decisions: dict[str, int] = field(default_factory=dict)
    resizes: int = 0
    kills: int = 0
    failures: int = 0
    pods: int = 0
    trusted: bool = True

    def count(self, outcome: str) -> None:
        self.decisions[outcome] = self.decisions.get(outcome, 0) + 1

    def exposition(self, *, leads: bool) -> str:
        """Return the counters as Prometheus reads them."""
        name = "prophase_autoscale"
        lines = [
            f"# HELP {name}_decisions_total Decisions about pods, by what was done.",
            f"# TYPE {name}_decisions_total counter",
            *(
                f'{name}_decisions_total{{outcome="{outcome}"}} {number}'
                for outcome, number in sorted(self.decisions.items())
            ),
        ]
        for kind, what, words, value in (
            ("counter", "resizes_total", "Pods resized.", self.resizes),
            ("counter", "kills_total", "Memory kills answered with more memory.", self.kills),
            ("counter", "failures_total", "Rounds and resizes that failed.", self.failures),
            ("gauge", "pods", "Pods looked at in the last round.", self.pods),
            ("gauge", "trusted", "1 while the learnt policy is asked, 0 on VPA's rule.",
             int(self.trusted)),
            ("gauge", "leader", "1 while this controller acts.", int(leads)),
        ):  # fmt: skip
            lines += [f"# HELP {name}_{what} {words}", f"# TYPE {name}_{what} {kind}"]
            lines.append(f"{name}_{what} {value}")
        return "\n".join(lines) + "\n"


class PodScaler:
    """Resizes the pods of a namespace by a saved policy.

    Parameters
    ----------
    api : CoreV1Api
        Of the official client.
    samples : PodSamples
        Where use comes from.
    selector : str
        Labels of the pods that may be resized.
    dry_run : bool, default=False
        Only annotate pods with what would be done.
    lease : LeaderLease, optional
        Act only while it is ours.
    tell : callable, optional
        Takes every decision that is more than "nothing new", as a JSON document.
    """

    def __init__(
        self,
        api: Any,
        namespace: str,
        policy: SavedPolicy,
        samples: PodSamples,
        *,
        rules: LiveRules | None = None,
        selector: str = SELECTOR,
        dry_run: bool = False,
        lease: LeaderLease | None = None,
        tell: Callable[[JsonObject], None] = lambda document: None,
    ) -> None:
        if policy.metric not in RESOURCES:
            raise ParameterError(
                f"pods can be resized in {' and '.join(RESOURCES)}, and this policy is for "
                f"{policy.metric}. Fit one with --allocate memory_gib."
            )
        self._api, self.namespace, self.policy, self._samples = api, namespace, policy, samples
        self.rules, self.selector, self.dry_run = rules or LiveRules(), selector, dry_run
        self.lease, self._tell = lease, tell
        self.counters = Counters()
        self._told: dict[str, tuple[str, str]] = {}

    @property
    def leads(self) -> bool:
        """Return whether this controller may act."""
        return self.lease is None or self.lease.is_ours

    def run(
        self,
        over: threading.Event,
        *,
        every_s: float,
        clock: Callable[[], float],
        rounds: float = math.inf,
    ) -> None:
        """Look at all pods again and again until told to stop; what fails is tried again."""
        # a lease must be renewed more often than samples come
        pause_s = every_s if self.lease is None else min(every_s, self.lease.duration_s / 3)
        done = 0
        while not over.is_set():
            try:
                if self.lease is None or self.lease.renew():
                    done += 1
                    self.round(clock())
            except Exception as error:
                self.counters.failures += 1
                log.error("Nothing was changed: %s", _in_words(error))
            if done >= rounds:
                return
            over.wait(pause_s)

    def round(self, now_s: float) -> list[LiveDecision]:
        """Look at all pods once and return what was decided."""
        listed = self._api.list_namespaced_pod(
            self.namespace, label_selector=self.selector, _preload_content=False
        )
        with listed as answer:
            pods = [pod for pod in _documents(answer) if is_running(pod)]
        self.counters.pods = len(pods)
        views = {pod["metadata"]["name"]: pod_now(pod, self.policy.metric) for pod in pods}
        runs = self._samples.runs({p["metadata"]["name"]: started_s(p) for p in pods}, now_s)
        self.counters.trusted = self._is_trusted(views, pods, now_s)
        left = self.rules.changes_per_hour - _recent_changes(views, now_s)
        done = []
        for pod in pods:
            if not self.leads:
                break
            view = views[pod["metadata"]["name"]]
            decision = decide(
                self.policy,
                view,
                runs.get(view.name, Samples(now_s)),
                self.rules,
                now_s,
                changes_left=left,
                trusted=self.counters.trusted,
            )
            if self._act(pod, view, decision):
                left -= 1
            done.append(decision)
        return done

    # -- acting

    def _act(self, pod: JsonMapping, view: PodNow, decision: LiveDecision) -> bool:
        """Do what was decided; return whether the pod was resized."""
        resized = False
        outcome: str = decision.outcome
        if decision.outcome == "resize":
            if self.dry_run:
                outcome = "would-resize"
                self._annotate_would(pod, decision)
            else:
                resized, outcome = self._resize(pod, view, decision)
        elif decision.memory != view.memory and not self.dry_run:
            # a kill that needs no resize is remembered, too
            self._noted(pod, decision)
        self.counters.count(outcome)
        if decision.memory.kills > view.memory.kills and resized:
            self.counters.kills += 1
        key = (decision.name, outcome)
        if outcome not in ("keep",) and self._told.get(view.name) != key:
            self._told[view.name] = key
            self._report(pod, view, decision, outcome)
        return resized

    def _resize(self, pod: JsonMapping, view: PodNow, decision: LiveDecision) -> tuple[bool, str]:
        from kubernetes.client import ApiException

        name = view.name
        try:
            if decision.memory != view.memory:
                pod = self._patched(name, state_patch(pod, decision.memory))
            for _ in range(_TRIES):
                wanted = resize_patch(pod, self.policy.metric, decision.memory.after)
                version = pod["metadata"]["resourceVersion"]
                try:
                    self._api.patch_namespaced_pod_resize(
                        name,
                        self.namespace,
                        {"metadata": {"resourceVersion": version}, **wanted},
                        _preload_content=False,
                    ).close()
                    self.counters.resizes += 1
                    return True, "resize"
                except ApiException as error:
                    if error.status != _CONFLICT:
                        raise
                # its status has changed; go on unless somebody else has moved it
                pod = self._read(name)
                now = pod_now(pod, self.policy.metric)
                if now.memory.decision != decision.name or now.allocated != decision.memory.before:
                    return False, "overtaken"
            return False, "overtaken"
        except ApiException as error:
            if error.status == _NOT_FOUND:
                return False, "gone"
            if error.status == _CONFLICT:
                return False, "overtaken"
            self.counters.failures += 1
            words = _in_words(error)
            if error.status == _FORBIDDEN:
                words += (
                    ". The controller needs the verbs get, list and patch on pods and patch on "
                    "pods/resize in this namespace"
                )
            log.error("Pod %s was not resized: %s", name, words)
            self._event(pod, "Warning", "ProphaseNotResized", words)
            return False, "failed"

    def _noted(self, pod: JsonMapping, decision: LiveDecision) -> None:
        from kubernetes.client import ApiException

        try:
            self._patched(pod["metadata"]["name"], state_patch(pod, decision.memory))
        except ApiException as error:
            # the next round sees the same kill and notes it then
            if error.status not in (_CONFLICT, _NOT_FOUND):
                raise

    def _annotate_would(self, pod: JsonMapping, decision: LiveDecision) -> None:
        self._patched(pod["metadata"]["name"], would_patch(decision, self.policy.metric))

    def _patched(self, name: str, patch: JsonObject) -> JsonObject:
        answer = self._api.patch_namespaced_pod(name, self.namespace, patch, _preload_content=False)
        return json_of(answer)

    def _read(self, name: str) -> JsonObject:
        return json_of(self._api.read_namespaced_pod(name, self.namespace, _preload_content=False))

    # -- telling

    def _report(self, pod: JsonMapping, view: PodNow, decision: LiveDecision, outcome: str) -> None:
        metric = self.policy.metric
        applied = decision.memory.after if outcome == "resize" else decision.applied(metric)
        known = applied == applied
        document = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "namespace": self.namespace,
            "pod": view.name,
            "decision": decision.name,
            "outcome": outcome,
            "from": None if math.isnan(view.allocated) else view.allocated,
            "to": applied if known else None,
            "exact": decision.allocation if known else None,
            "metric": metric,
            "reason": decision.reason,
            "learnt": decision.learnt,
        }
        self._tell(document)
        if outcome == "resize":
            words = f"{quantity(applied, metric)}: {decision.reason}"
            self._event(pod, "Normal", "ProphaseResized", words)
        elif outcome == "refused":
            self._event(pod, "Warning", "ProphaseNotResized", decision.reason)

    def _event(self, pod: JsonMapping, kind: str, reason: str, message: str) -> None:
        from kubernetes.client import ApiException

        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        about = {name: pod["metadata"][name] for name in ("name", "namespace", "uid")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "prophase-", "namespace": self.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": "prophase"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._api.create_namespaced_event(self.namespace, event, _preload_content=False)
        except ApiException as error:
            log.warning("An event was not taken: %s", _in_words(error))

    # -- looking

    def _is_trusted(
        self, views: Mapping[str, PodNow], pods: Sequence[JsonMapping], now_s: float
    ) -> bool:
        """Return whether kills are no more than the fit series let expect."""
        expected = self.policy.kills_per_pod_day
        kills = sum(one.memory.kills for one in views.values())
        if expected is None or kills < _FEW_KILLS:
            return True
        pod_days = sum(max(now_s - started_s(pod), 0.0) for pod in pods) / _DAY_S
        return kills <= _TOO_MANY * max(expected * pod_days, 1.0)


def _recent_changes(views: Mapping[str, PodNow], now_s: float) -> int:
    return sum(at > now_s - 3600.0 for one in views.values() for at in one.memory.changes_s)


def is_running(pod: JsonMapping) -> bool:
    """Return whether a pod runs and is not about to end."""
    ending = pod["metadata"].get("deletionTimestamp")
    return not ending and (pod.get("status") or {}).get("phase") == "Running"


def started_s(pod: JsonMapping) -> float:
    """Return when a pod began."""
    at = (pod.get("status") or {}).get("startTime") or pod["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(str(at)).timestamp()


def json_of(answer: Any) -> JsonObject:
    """Return an answer of the API server that was not read yet."""
    try:
        found: JsonObject = json.loads(answer.data)
    finally:
        answer.release_conn()
    return found


def _documents(answer: Any) -> list[JsonObject]:
    return list(json_of(answer)["items"])


def _in_words(error: Exception) -> str:
    """Return an error as a sentence, without the pages that the client adds."""
    try:
        with api_server_message():
            raise error
    except ProphaseError as known:
        return str(known)
    except Exception as other:
        first = str(other).strip().splitlines()
        return f"{type(other).__name__}: {first[0] if first else 'no message'}"
