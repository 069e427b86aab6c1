"""Which label of a metric says what: names differ between clusters, so each can be set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from prophase.errors import ParameterError
from prophase.profile.submission.kubernetes_manifest import OWNER_WORDS

#: pods of these owners are services, not jobs
SERVICES = ("DaemonSet", "ReplicaSet", "StatefulSet", "Node", "Deployment")


@dataclass(frozen=True)
class LabelNames:
    """Names of labels, and which pods count.

    Attributes
    ----------
    pod, namespace, container, node : str
        Labels of cAdvisor's and kube-state-metrics' series.
    gpu_pod, gpu_namespace : str
        Labels of DCGM's series; empty: found out by asking for ``exported_pod`` and ``pod``.
    user, group, queue, workload, task : str
        Labels of ``kube_pod_labels`` that fill these columns; empty: those whose last word says so,
        as when a manifest is read.
    namespaces : str
        Regular expression of the namespaces to read.
    services : str
        ``yes`` also takes pods of Deployments, StatefulSets and DaemonSets as jobs.
    """

    pod: str = "pod"
    namespace: str = "namespace"
    container: str = "container"
    node: str = "node"
    gpu_pod: str = ""
    gpu_namespace: str = ""
    user: str = ""
    group: str = ""
    queue: str = ""
    workload: str = ""
    task: str = ""
    namespaces: str = ""
    services: str = "no"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> LabelNames:
        """Return the labels that ``--option NAME=LABEL`` names.

        Examples
        --------
        >>> LabelNames.of({"user": "label_submitter"}).user
        'label_submitter'
        """
        known = [one.name for one in fields(cls)]
        for name, value in options.items():
            if name not in known:
                raise ParameterError.among(
                    f"option {name!r}: the source prometheus has no such option.",
                    name,
                    known,
                    heading="It has",
                )
            if name == "services":
                fits = value in ("yes", "no")
            elif name == "namespaces":
                fits = '"' not in value and "\\" not in value
            else:
                fits = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None
            if not fits:
                raise ParameterError(f"option {name}={value!r}: is no label name, or not allowed.")
        return replace(cls(), **options)

    def key(self, labels: Mapping[str, str]) -> tuple[str, str] | None:
        """Return namespace and pod of a series; None if it has no pod."""
        pod = labels.get(self.pod)
        return (labels.get(self.namespace, ""), pod) if pod else None

    def selector(self, *rules: str) -> str:
        """Return the part of an expression that chooses series."""
        held = [*rules]
        if self.namespaces:
            held.append(f'{self.namespace}=~"{self.namespaces}"')
        return "{" + ",".join(held) + "}" if held else ""

    def columns(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Return who and what the labels of a pod name.

        Examples
        --------
        >>> LabelNames().columns({"label_example_com_team": "nlp", "label_app": "bert"})
        {'group': 'nlp', 'workload': 'bert'}
        """
        found = {}
        for column, words in OWNER_WORDS.items():
            named = getattr(self, column)
            value = labels.get(named) if named else _by_word(labels, words)
            if value:
                found[column] = value
        return found


def _by_word(labels: Mapping[str, str], words: Iterable[str]) -> str | None:
    """Return the label whose name ends in the first of the words that any has."""
    for word in words:
        # kube-state-metrics writes every other character as an underscore
        plain = re.sub(r"[^a-z0-9]", "_", word)
        for name in sorted(labels):
            if name.startswith("label_") and f"_{name[6:].lower()}".endswith(f"_{plain}"):
                return labels[name]
    return None


@dataclass
class Pod:
    """What is known of one pod so far."""

    namespace: str
    name: str
    node: str = ""
    owner_kind: str = ""
    owner: str = ""
    priority_class: str = ""
    phase: str = ""
    reason: str = ""
    created_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    seen_s: float = 0.0
    #: resource -> request of all containers together
    requests: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    gpu_type: str = ""
    #: of its main container
    image: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def is_service(self) -> bool:
        return self.owner_kind in SERVICES
