"""Recommendations in the form each system reads: configuration to paste, review and apply."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.sizing.recommender import Recommendation, ResourceRecommendations, as_rows


def export(found: ResourceRecommendations, form: str) -> str:
    """Return the recommendations as text.

    Parameters
    ----------
    form : str
        One of :data:`FORMS`. Tasks that keep their request are left out of configurations.
    """
    if form not in FORMS:
        raise ParameterError(not_among(f"export {form!r} is unknown.", form, FORMS))
    if form in _MEMORY_ONLY and found.resource != "memory":
        raise ParameterError(
            f"export {form!r} writes memory requests, but {found.resource} was sized. "
            "Use --export csv or json for other resources."
        )
    return FORMS[form](found)


def _kubernetes(found: ResourceRecommendations) -> str:
    """One strategic-merge patch per task; the task names the workload and its container."""
    parts = []
    for one in _changed(found):
        name = _dns_name(one.task)
        memory = f"{units.whole_mib(one.request)}Mi"
        parts.append(
            "\n".join(
                [
                    f"# {one.task}: {one.why}",
                    "apiVersion: apps/v1",
                    "kind: Deployment",
                    "metadata:",
                    f"  name: {name}",
                    "spec:",
                    "  template:",
                    "    spec:",
                    "      containers:",
                    f"      - name: {name}",
                    "        resources:",
                    "          requests:",
                    f"            memory: {memory}",
                    "          limits:",
                    f"            memory: {memory}",
                ]
            )
        )
    return "\n---\n".join(parts) + ("\n" if parts else "")


def _nextflow(found: ResourceRecommendations) -> str:
    """A config file whose memory grows with the attempt, as the ladder says."""
    lines = ["process {"]
    for one in _changed(found):
        rungs = ", ".join(str(units.whole_mib(rung)) for rung in one.ladder)
        name = one.task.replace("\\", "\\\\").replace("'", "\\'")
        lines += [
            f"    // {_one_line(one.why)}",
            f"    withName: '{name}' {{",
            f"        memory = {{ [{rungs}][Math.min(task.attempt, {len(one.ladder)}) - 1]"
            " * 1.MB }",
            "        errorStrategy = { task.exitStatus in [104, 134, 137, 139, 140, 143] ? "
            "'retry' : 'finish' }",
            f"        maxRetries = {len(one.ladder) - 1}",
            "    }",
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _airflow(found: ResourceRecommendations) -> str:
    """Keyword arguments per task id, ready for ``**SIZES[task_id]`` in a DAG."""
    sizes = {
        one.task: {
            "executor_config": {
                "pod_override": {
                    "spec": {
                        "containers": [
                            {
                                "name": "base",
                                "resources": {
                                    "requests": {"memory": f"{units.whole_mib(one.request)}Mi"},
                                    "limits": {"memory": f"{units.whole_mib(one.request)}Mi"},
                                },
                            }
                        ]
                    }
                }
            },
            "retries": len(one.ladder) - 1,
            "params": {"memory_ladder_mib": [units.whole_mib(rung) for rung in one.ladder]},
        }
        for one in _changed(found)
    }
    return json.dumps(sizes, indent=2) + "\n"


def _sbatch(found: ResourceRecommendations) -> str:
    """One block per task: the line of the first attempt, those of the next as comments."""
    lines = []
    for one in _changed(found):
        first, *more = [units.whole_mib(rung) for rung in one.ladder]
        lines += [f"# {_one_line(one.task)}: {_one_line(one.why)}", f"#SBATCH --mem={first}M"]
        lines += [f"# if killed for memory: sbatch --mem={rung}M" for rung in more]
    return "\n".join(lines) + ("\n" if lines else "")


def _csv(found: ResourceRecommendations) -> str:
    rows = as_rows(found)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _json(found: ResourceRecommendations) -> str:
    return json.dumps(found.to_dict(), indent=2) + "\n"


#: name -> writer
FORMS: dict[str, Callable[[ResourceRecommendations], str]] = {
    "kubernetes": _kubernetes,
    "nextflow": _nextflow,
    "airflow": _airflow,
    "sbatch": _sbatch,
    "csv": _csv,
    "json": _json,
}
_MEMORY_ONLY = ("kubernetes", "nextflow", "airflow", "sbatch")


def _changed(found: ResourceRecommendations) -> list[Recommendation]:
    return [one for one in found.tasks if not one.keep]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _dns_name(task: str) -> str:
    """Return a task's name as Kubernetes allows it.

    Examples
    --------
    >>> _dns_name("NFCORE_MAG:MAG:MEGAHIT")
    'nfcore-mag-mag-megahit'
    """
    name = re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")
    return name[-63:].strip("-") or "task"
