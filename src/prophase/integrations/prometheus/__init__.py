"""Prometheus as a source: usage series, and the jobs, usage and nodes of a Kubernetes cluster."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.integrations.prometheus.gathering import gather
    from prophase.integrations.prometheus.server import Prometheus
    from prophase.integrations.prometheus.usage import follow_prometheus, usage_from_prometheus

_HOMES = {
    "Prometheus": "server",
    "follow_prometheus": "usage",
    "gather": "gathering",
    "usage_from_prometheus": "usage",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Prometheus", "follow_prometheus", "gather", "usage_from_prometheus"]
