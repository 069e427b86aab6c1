"""Sizes as a Python module, for engines whose workflows are Python: Airflow, Flyte and Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pprint import pformat

from prophase.sizing.exports.kind_requests import (
    KindRequests,
    LeftOut,
    mebibytes,
    millicores,
    whole,
)

_Written = Callable[[float], str | int | float]

_AIRFLOW = '''\
"""Requests for the pods of Airflow tasks, by task id and try.

In a DAG, for the KubernetesExecutor: ``BashOperator(task_id="...", **task_arguments("..."))``.
Memory rises with every try, for KubernetesPodOperator too, if ``airflow_local_settings.py`` has
``from sizes import pod_mutation_hook``.
"""

from datetime import timedelta

from kubernetes.client import models as k8s

{ladders}

def asked(task_id, try_number=1):
    """Return what a try asks for; None for a task that is not listed."""
    ladder = LADDERS.get(task_id)
    return ladder and ladder[min(max(try_number, 1), len(ladder)) - 1]


def resources(task_id, try_number=1):
    """Return requests and limits, for ``KubernetesPodOperator(container_resources=...)``."""
    found = dict(asked(task_id, try_number) or {{}})
    found.pop("time_limit_s", None)
    # with too few cores a pod is slow, not killed: room up to the last rung
    cores = {{"cpu": LADDERS[task_id][-1]["cpu"]}} if "cpu" in found else {{}}
    return k8s.V1ResourceRequirements(requests=found, limits={{**found, **cores}})


def pod_override(task_id, try_number=1):
    """Return the pod that the KubernetesExecutor merges into its template."""
    container = k8s.V1Container(name="base", resources=resources(task_id, try_number))
    return k8s.V1Pod(spec=k8s.V1PodSpec(containers=[container]))


def task_arguments(task_id):
    """Return arguments for an operator: the first request, how many tries, the time limit."""
    found = {{"retries": len(LADDERS[task_id]) - 1}}
    if any(key != "time_limit_s" for key in LADDERS[task_id][0]):
        found["executor_config"] = {{"pod_override": pod_override(task_id)}}
    if limit_s := LADDERS[task_id][-1].get("time_limit_s"):
        found["execution_timeout"] = timedelta(seconds=limit_s)
    return found


def pod_mutation_hook(pod):
    """Give each pod what its task and try ask for; Airflow calls it before a pod starts."""
    labels = {{**(pod.metadata.labels or {{}}), **(pod.metadata.annotations or {{}})}}
    task_id, try_number = labels.get("task_id"), int(labels.get("try_number") or 1)
    if task_id not in LADDERS:
        return
    wanted = resources(task_id, try_number)
    for container in pod.spec.containers:
        if container.name == "base":
            before = container.resources or k8s.V1ResourceRequirements()
            container.resources = k8s.V1ResourceRequirements(
                requests={{**(before.requests or {{}}), **wanted.requests}},
                limits={{**(before.limits or {{}}), **wanted.limits}},
            )
'''
_FLYTE = '''\
"""Requests for Flyte tasks: ``align(x=x).with_overrides(**overrides("align"))`` in a workflow,
or ``@task(**overrides("align"))``. Flyte gives every retry the same request; call the task again
with ``overrides("align", attempt=2)`` after a kill.
"""

from datetime import timedelta

from flytekit import Resources

{ladders}

def overrides(task, attempt=1):
    """Return requests, limits and timeout of a task at an attempt."""
    ladder = LADDERS[task]
    asked = dict(ladder[min(attempt, len(ladder)) - 1])
    limit_s = asked.pop("time_limit_s", None)
    # with too few cores a task is slow, not killed: room up to the last rung
    cores = {{"cpu": ladder[-1]["cpu"]}} if "cpu" in asked else {{}}
    limits = {{**asked, **cores}}
    found = {{"requests": Resources(**asked), "limits": Resources(**limits)}} if asked else {{}}
    return found if limit_s is None else {{**found, "timeout": timedelta(seconds=limit_s)}}
'''
_RAY = '''\
"""Requests for Ray tasks and actors: ``align.options(**options("align")).remote(x)``, or
``run(align, "align", x)``, which asks for more after an out-of-memory kill.
"""

import ray

{ladders}

def options(kind, attempt=1):
    """Return what an attempt asks for, as ``.options()`` takes it."""
    ladder = LADDERS[kind]
    return dict(ladder[min(attempt, len(ladder)) - 1])


def run(function, kind, *args, **kwargs):
    """Return the result of a remote function; a kill for memory is followed by the next rung."""
    last = len(LADDERS[kind])
    for attempt in range(1, last + 1):
        sized = function.options(**options(kind, attempt), max_retries=0)
        try:
            return ray.get(sized.remote(*args, **kwargs))
        except ray.exceptions.OutOfMemoryError:
            if attempt == last:
                raise
'''


def airflow(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return a module with pods for each task and try."""
    return _module(
        _AIRFLOW, asked, left_out,
        {
            "memory_gib": ("memory", mebibytes), "cpu_cores": ("cpu", millicores),
            "gpus": ("nvidia.com/gpu", whole), "time_limit_s": ("time_limit_s", _seconds),
        },
    )  # fmt: skip


def flyte(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return a module with the overrides of each task."""
    return _module(
        _FLYTE, asked, left_out,
        {
            "memory_gib": ("mem", mebibytes), "cpu_cores": ("cpu", millicores),
            "gpus": ("gpu", whole), "time_limit_s": ("time_limit_s", _seconds),
        },
        attempts=False,
    )  # fmt: skip


def ray(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return a module with the options of each remote function."""
    return _module(
        _RAY, asked, left_out,
        {
            "memory_gib": ("memory", lambda gib: round(gib * 2**30)),
            "cpu_cores": ("num_cpus", lambda cores: round(cores, 3)),
            # a share of one GPU can be had, or whole ones
            "gpus": ("num_gpus", lambda gpus: round(gpus, 3) if gpus <= 1 else int(whole(gpus))),
        },
        gpu_shares=True,
    )  # fmt: skip


def _module(
    frame: str,
    asked: Sequence[KindRequests],
    left_out: LeftOut,
    names: Mapping[str, tuple[str, _Written]],
    *,
    attempts: bool = True,
    gpu_shares: bool = False,
) -> str:
    ladders, lines = {}, []
    for one in left_out.expressible(asked, names, attempts=attempts, gpu_shares=gpu_shares):
        lines.append(f"# {one.comment}\n")
        ladders[one.kind] = [
            {
                key: write(one.at(resource, attempt))
                for resource, (key, write) in names.items()
                if resource in one.ladders
            }
            for attempt in range(1, one.attempts + 1)
        ]
    told = "".join(f"# {said}\n" for said in left_out.sentences())
    held = pformat(ladders, width=96, sort_dicts=False)
    table = f"#: name -> what the 1st, 2nd ... attempt asks for\nLADDERS = {held}\n"
    return frame.format(ladders=told + "".join(lines) + table)


def _seconds(seconds: float) -> int:
    return int(whole(seconds))
