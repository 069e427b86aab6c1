"""Which kinds of job are there? Usage metrics, clustering and profiles."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.clusters.affinity import node_type_affinity
    from prophase.profile.clusters.clusterability import hopkins
    from prophase.profile.clusters.clustering import Clustering, Generator
    from prophase.profile.clusters.features import USAGE_METRICS, usage_features
    from prophase.profile.clusters.figure_tables import box_statistics, metadata_heat_map
    from prophase.profile.clusters.fixed_labels import fixed_label_silhouettes
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.clusters.profiles import Profile

_HOMES = {
    "USAGE_METRICS": "features",
    "Clustering": "clustering",
    "Generator": "clustering",
    "Profile": "profiles",
    "WorkloadProfiler": "profiler",
    "box_statistics": "figure_tables",
    "fixed_label_silhouettes": "fixed_labels",
    "hopkins": "clusterability",
    "metadata_heat_map": "figure_tables",
    "node_type_affinity": "affinity",
    "usage_features": "features",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "USAGE_METRICS",
    "Clustering",
    "Generator",
    "Profile",
    "WorkloadProfiler",
    "box_statistics",
    "fixed_label_silhouettes",
    "hopkins",
    "metadata_heat_map",
    "node_type_affinity",
    "usage_features",
]
