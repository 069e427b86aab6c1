"""Sizes for templates of Argo Workflows: a pod patch that grows with ``retries``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from prophase import units
from prophase.sizing.exports.kind_requests import KindRequests, LeftOut, dns_name, whole, yaml_text

HEAD = """\
# Requests for Argo Workflows: add retryStrategy and podSpecPatch to the templates of these names,
# or merge the file with Kustomize and Argo's schema (openapi of argo-schema-generator).
"""
#: resource -> (key in a pod, how a rung is written, the unit after it)
_QUANTITIES: dict[str, tuple[str, Callable[[float], str], str]] = {
    "memory_gib": ("memory", lambda gib: str(units.whole_mib(gib)), "Mi"),
    "cpu_cores": ("cpu", lambda cores: whole(1000 * cores), "m"),
    "gpus": ("nvidia.com/gpu", whole, ""),
}
#: killed by the kernel or at a limit; anything else is not tried again
_KILLED = 'lastRetry.exitCode in ["137", "143"] || lastRetry.message contains "OOMKilled"'


def write(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return a WorkflowTemplate that holds what changes in each template."""
    templates, lines = [], []
    for one in left_out.expressible(asked, (*_QUANTITIES, "time_limit_s"), patterns=False):
        lines.append(f"# {one.comment}")
        quantities = {
            key: _by_attempt(one.written(resource, write_one)) + unit
            for resource, (key, write_one, unit) in _QUANTITIES.items()
            if resource in one.ladders
        }
        patch: dict[str, object] = {}
        if quantities:
            limits = dict(quantities)
            if "cpu_cores" in one.ladders:
                # whoever has too few cores is slowed down, not killed: room up to the last rung
                limits["cpu"] = whole(1000 * max(one.ladders["cpu_cores"])) + "m"
            resources = {"requests": quantities, "limits": limits}
            patch["containers"] = [{"name": "main", "resources": resources}]
        text = json.dumps(patch)
        if "time_limit_s" in one.ladders:
            # a number, so that it stands without quotes
            limit = f'"activeDeadlineSeconds": {_by_attempt(one.written("time_limit_s", whole))}'
            text = f"{{{limit}{', ' if patch else ''}{text[1:]}"
        retry = {
            "limit": str(one.attempts - 1), "retryPolicy": "Always", "expression": _KILLED,
        }  # fmt: skip
        templates.append({"name": dns_name(one.kind), "retryStrategy": retry, "podSpecPatch": text})
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "prophase-sizes"},
        "spec": {"templates": templates},
    }
    told = "".join(f"# {said}\n" for said in left_out.sentences())
    said = "".join(f"{line}\n" for line in lines)
    return HEAD + told + said + yaml_text(document)


def _by_attempt(rungs: list[str]) -> str:
    """Return Argo's expression for the rung of an attempt."""
    if len(set(rungs)) == 1:
        return rungs[0]
    last = len(rungs) - 1
    place = f"sprig.int(retries) < {last} ? sprig.int(retries) : {last}"
    return f"{{{{=[{', '.join(rungs)}][{place}]}}}}"
