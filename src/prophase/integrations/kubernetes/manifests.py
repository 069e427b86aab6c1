"""What is handed to the API server: a ConfigMap per deployment, a Job per attempt at a task."""

from __future__ import annotations

import hashlib
import math
import re

from prophase import units
from prophase.json_types import JsonObject
from prophase.runs.executor import Assignment
from prophase.runs.pipeline import Task

MANAGED = {"app.kubernetes.io/managed-by": "prophase"}
RUN_LABEL, ATTEMPT_LABEL = "prophase.dev/run", "prophase.dev/attempt"
CAMPAIGN_LABEL = "prophase.dev/campaign"
TASK_NOTE, RUN_NOTE = "prophase.dev/task", "prophase.dev/run-id"
GENERATION_NOTE, MEMORY_NOTE = "prophase.dev/generation", "prophase.dev/memory-gib"
CONTAINER = "task"
#: where an image has the job code, and where the scenario is mounted
_CODE, _SCENARIO = "/code", "/prophase"
DEFAULT_IMAGE = "python:3.11-slim"


def object_name(*parts: str) -> str:
    """Return a name the API server allows, which differs when the parts do.

    Examples
    --------
    >>> object_name("Demand--eu", "train_trees", "1")
    'demand-eu-train-trees-1-99fac65188'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]
    # the pods of a Job add a suffix to its name, and all of it fits into a label of 63
    return f"{plain[:40].strip('-') or 'x'}-{digest}"


def run_label(run_id: str) -> str:
    """Return a value that selects all objects of a run."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:40]


def campaign_selector(campaign: str) -> str:
    """Return what selects all objects of a campaign."""
    labels = {**MANAGED, CAMPAIGN_LABEL: campaign}
    return ",".join(f"{key}={value}" for key, value in labels.items())


def scenario_map(job: Assignment) -> JsonObject:
    """Return the ConfigMap of a deployment."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": object_name(job.new_dag_id), "labels": _labels(job)},
        "data": {
            "scenario.yaml": job.scenario_yaml,
            "pipeline.yaml": job.pipeline.text,
        },
    }


def task_job(
    job: Assignment, task: Task, attempt: int, memory_gib: float, cpu_cores: float, image: str
) -> dict[str, object]:
    """Return the Job of one attempt: one pod, which is never restarted by the cluster."""
    run_id = job.run_id or job.new_run_id
    labels = {**_labels(job), RUN_LABEL: run_label(run_id), ATTEMPT_LABEL: str(attempt)}
    notes = {
        RUN_NOTE: run_id,
        TASK_NOTE: task.name,
        GENERATION_NOTE: str(job.resets),
        MEMORY_NOTE: repr(memory_gib),
    }
    mib = units.whole_mib(memory_gib)
    known = {"code": _CODE, "memory_gib": f"{memory_gib:.6g}", "task": task.name}
    values = job.placeholders(run_id, python="python3", **known)
    variables = job.environment(values, "date", "scenario", "code", "memory_gib", "run_id", "task")
    spec: JsonObject = {
        "backoffLimit": 0,
        "template": {
            "metadata": {"labels": labels, "annotations": notes},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": CONTAINER,
                        "image": image,
                        "command": task.filled_in(values),
                        "env": [{"name": n, "value": v} for n, v in variables.items()],
                        "resources": {
                            "requests": {"memory": f"{mib}Mi", "cpu": f"{cpu_cores:g}"},
                            "limits": {"memory": f"{mib}Mi"},
                        },
                        "terminationMessagePolicy": "FallbackToLogsOnError",
                        "volumeMounts": [
                            {"name": "scenario", "mountPath": _SCENARIO, "readOnly": True}
                        ],
                    }
                ],
                "volumes": [
                    {"name": "scenario", "configMap": {"name": object_name(job.new_dag_id)}}
                ],
            },
        },
    }
    if task.timeout_s is not None:
        spec["activeDeadlineSeconds"] = max(1, math.ceil(task.timeout_s))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": object_name(run_id, task.name, str(attempt)),
            "labels": labels,
            "annotations": notes,
        },
        "spec": spec,
    }


def _labels(job: Assignment) -> dict[str, str]:
    return {**MANAGED, CAMPAIGN_LABEL: job.campaign}
