from tests.sizing.bins.conftest import heavy, pipeline

__all__ = ["heavy", "pipeline"]
