"""Ways to make profiles, all behind ``clustering.Generator``."""

from prophase.profile.clusters.generators.autoencoder import Autoencoder
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.generators.partition import KMeans
from prophase.profile.clusters.generators.rules import Rule, Rules
from prophase.profile.clusters.generators.semi_supervised import SemiSupervised

__all__ = ["Autoencoder", "Hdbscan", "KMeans", "Optics", "Rule", "Rules", "SemiSupervised"]
