"""Sizes as a Snakemake profile: resources that grow with ``attempt``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from prophase.sizing.exports.kind_requests import KindRequests, LeftOut, whole, yaml_text

HEAD = """\
# Requests for Snakemake. Save as sizes/config.yaml and run: snakemake --profile sizes
"""
_MB_PER_GIB = 2**30 / 1e6
#: resource -> (name in Snakemake, how a rung is written); memory in MB, run times in minutes
_RESOURCES: dict[str, tuple[str, Callable[[float], str]]] = {
    "memory_gib": ("mem_mb", lambda gib: whole(gib * _MB_PER_GIB)),
    "gpus": ("gpu", whole),
    "gpu_memory_gib": ("gpu_mem_mb", lambda gib: whole(gib * _MB_PER_GIB)),
    "time_limit_s": ("runtime", lambda seconds: str(max(1, math.ceil(seconds / 60 - 1e-9)))),
}


def write(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return the ``config.yaml`` of a profile."""
    rules: dict[str, dict[str, str]] = {}
    threads: dict[str, int] = {}
    retries = 0
    lines = []
    for one in left_out.expressible(asked, (*_RESOURCES, "cpu_cores"), patterns=False):
        if not one.kind.isidentifier():
            left_out.note("names that no rule can have", one)
            continue
        lines.append(f"# {one.comment}")
        retries = max(retries, one.attempts - 1)
        for resource, (name, write_one) in _RESOURCES.items():
            if resource in one.ladders:
                rungs = one.written(resource, write_one)
                at = f"[min(attempt, {len(rungs)}) - 1]"
                rules.setdefault(one.kind, {})[name] = f"[{', '.join(rungs)}]{at}"
        if "cpu_cores" in one.ladders:
            threads[one.kind] = int(whole(one.at("cpu_cores", 1)))
            if len(set(one.written("cpu_cores", whole))) > 1:
                left_out.note("cores of later attempts: a profile sets threads once", one)
    profile: dict[str, object] = {"retries": retries}
    profile |= {"set-resources": rules} if rules else {}
    profile |= {"set-threads": threads} if threads else {}
    told = "".join(f"# {said}\n" for said in left_out.sentences())
    said = "".join(f"{line}\n" for line in lines)
    return HEAD + told + said + yaml_text(profile)
