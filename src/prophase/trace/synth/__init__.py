"""Synthetic traces with known truth, shipped as code: seeded and fast."""

from prophase.trace.synth.cluster import make_cluster
from prophase.trace.synth.containers import make_containers
from prophase.trace.synth.generator import (
    Generator,
    all_generators,
    generator_named,
    tables_to_store,
)
from prophase.trace.synth.pai import make_pai
from prophase.trace.synth.pai_published import compare_with_published
from prophase.trace.synth.pai_raw import write_raw
from prophase.trace.synth.pipeline import make_pipeline

__all__ = [
    "Generator",
    "all_generators",
    "compare_with_published",
    "generator_named",
    "make_cluster",
    "make_containers",
    "make_pai",
    "make_pipeline",
    "tables_to_store",
    "write_raw",
]
