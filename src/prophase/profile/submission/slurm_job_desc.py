"""A job as Slurm's ``job_submit`` plugins see it: the fields of ``job_desc``.

Fields that are not set hold a very large number; ``pn_min_memory`` is in MiB per node, or per CPU
if its highest bit is set (plugins in Lua see ``min_mem_per_node`` or ``min_mem_per_cpu``
instead), and times are in minutes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from prophase.errors import InputError
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.slurm_script import FORM, gpus_of
from prophase.profile.submission.submission import Submission

#: NO_VAL and INFINITE in 16, 32 and 64 bits
_UNSET = {
    0xFFFE, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF,
}  # fmt: skip
#: Lua has doubles: there the unset numbers of 64 bits are rounded to these and above
_ROUNDED_UNSET = 2**64 - 2**11
_PER_CPU = 1 << 63
_PER_TRES = re.compile(r"gpu(?::[^:,=]*[A-Za-z][^:,=]*)?[:=](\d+)")
_TEXTS = {
    "name": "name",
    "account": "group",
    "partition": "queue",
    "user_name": "user",
    "qos": "attr_qos",
    "features": "attr_constraint",
    "reservation": "attr_reservation",
    "licenses": "attr_licenses",
    "wckey": "attr_wckey",
    "work_dir": "attr_workdir",
    "comment": "attr_comment",
}


def from_job_desc(fields: Mapping[str, object]) -> Submission:
    """Return the job of ``job_desc``; fields that nobody knows are passed over.

    Examples
    --------
    >>> job = {"name": "train", "min_nodes": 1, "pn_min_memory": 65536, "time_limit": 120}
    >>> dict(from_job_desc(job).columns)
    {'name': 'train', 'instances': 1.0, 'request_cpu_cores': 1.0, 'request_gpus': 0.0,
     'request_memory_gib': 64.0, 'time_limit_s': 7200.0}
    """
    columns: JsonObject = {}
    for field, column in _TEXTS.items():
        value = fields.get(field)
        if isinstance(value, str) and value.strip():
            columns[column] = value.strip()
    nodes = number_of(fields, "min_nodes") or 1.0
    columns["instances"] = nodes
    tasks = number_of(fields, "num_tasks")
    here = number_of(fields, "ntasks_per_node") or (tasks / nodes if tasks else None)
    per_task = number_of(fields, "cpus_per_task")
    cores = (here or 1.0) * (per_task or 1.0) if here or per_task else None
    total = number_of(fields, "min_cpus")
    if cores is None:
        cores = total / nodes if total else 1.0
    columns["request_cpu_cores"] = cores
    columns["request_gpus"], columns["gpu_type"] = _gpus(fields, nodes, here or 1.0)
    columns["request_memory_gib"] = _memory_gib(fields, cores, columns["request_gpus"])
    limit = number_of(fields, "time_limit")
    columns["time_limit_s"] = limit * 60 if limit else None
    columns["priority"] = number_of(fields, "priority")
    return Submission({k: v for k, v in columns.items() if v is not None}, FORM)


def number_of(fields: JsonMapping, name: str) -> float | None:
    """Return a number of ``job_desc``; None if it is not set."""
    value = fields.get(name)
    if value is None or value in _UNSET:
        return None
    if isinstance(value, int | float) and value >= _ROUNDED_UNSET:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**64:
        raise InputError(f"{name} is {value!r}, which is not a number Slurm would send.")
    return float(value)


def takes_whole_nodes(fields: JsonMapping) -> bool:
    """Say whether a job shares its nodes with nobody, or asks for all their memory."""
    return fields.get("shared") == 0 or fields.get("min_mem_per_node") == 0


def memory_form(fields: JsonMapping) -> str:
    """Return the field that says how much memory a job asks for.

    Examples
    --------
    >>> memory_form({"min_mem_per_cpu": 4096}), memory_form({"min_mem_per_node": 65536})
    ('min_mem_per_cpu', 'pn_min_memory')
    """
    if fields.get("mem_per_tres"):
        return "mem_per_tres"
    if number_of(fields, "min_mem_per_cpu") and not number_of(fields, "min_mem_per_node"):
        return "min_mem_per_cpu"
    held = fields.get("pn_min_memory")
    is_set = number_of(fields, "pn_min_memory") is not None
    return "min_mem_per_cpu" if is_set and held and int(held) & _PER_CPU else "pn_min_memory"


def memory_mib_per_cpu(fields: JsonMapping) -> float:
    """Return the memory per CPU of a job that asks for it so."""
    stated = number_of(fields, "min_mem_per_cpu")
    return stated or float(int(fields["pn_min_memory"]) ^ _PER_CPU)


def memory_mib_per_gpu(fields: JsonMapping) -> float | None:
    """Return the memory per GPU, as ``mem_per_tres`` has it: ``gres:gpu:4096``."""
    match = _PER_TRES.search(str(fields.get("mem_per_tres") or ""))
    return float(match[1]) if match else None


def _gpus(fields: JsonMapping, nodes: float, tasks_here: float) -> tuple[float, str | None]:
    """Return GPUs per node and their type, from whichever field asks for them."""
    factors = {
        "tres_per_node": 1.0, "gres": 1.0, "tres_per_job": 1.0 / nodes,
        "tres_per_task": tasks_here,
    }  # fmt: skip
    for name, factor in factors.items():
        text = fields.get(name)
        if isinstance(text, str) and "gpu" in text:
            found, kind = gpus_of(text, name)
            return found * factor, kind
    return 0.0, None


def _memory_gib(fields: JsonMapping, cores: float | None, gpus: float | None) -> float | None:
    per_gpu = memory_mib_per_gpu(fields)
    if per_gpu is not None:
        return per_gpu / 1024 * (gpus or 1.0)
    for name, times in (("min_mem_per_node", 1.0), ("min_mem_per_cpu", cores or 1.0)):
        held_mib = number_of(fields, name)
        if held_mib:
            return held_mib / 1024 * times
    value = fields.get("pn_min_memory")
    if number_of(fields, "pn_min_memory") is None or not value:
        return None
    held = int(value)
    if held & _PER_CPU:
        return (held ^ _PER_CPU) / 1024 * (cores or 1.0)
    return held / 1024
