"""The jobs of the clustering tests."""

from tests.profile.clusters.conftest import jobs

__all__ = ["jobs"]
