"""What is written down of a run before its tasks begin: commands, order, memory."""

from __future__ import annotations

from typing import Any

from prophase.runs.executor import Assignment
from prophase.runs.local.attempts import MEMORY_LATER, PYTHON_LATER


def run_spec(
    job: Assignment, run_id: str, *, code: str, allocations: str | None = None
) -> dict[str, Any]:
    """Return all that whoever runs the tasks needs to know.

    Parameters
    ----------
    code : str
        Folder of the job code, where the tasks run.
    allocations : str, optional
        File with the memory and cores that are set per task while the campaign runs.
    """
    # memory and interpreter are known only when an attempt begins
    filled = {
        **job.attributes,
        "date": str(job.execution_date),
        "scenario": job.scenario,
        "code": code,
        "memory_gib": MEMORY_LATER,
        "run_id": run_id,
        "python": PYTHON_LATER,
    }
    env = {f"PROPHASE_{key.upper()}": str(value) for key, value in job.attributes.items()}
    env |= {
        "PROPHASE_SCENARIO": job.scenario,
        "PROPHASE_DATE": str(job.execution_date),
        "PROPHASE_CODE": code,
        "PROPHASE_RUN_ID": run_id,
    }
    return {
        "id": job.id,
        "generation": job.resets,
        "env": env,
        "tasks": {
            task.name: {
                "command": task.filled_in({**filled, "task": task.name}),
                "after": list(task.after),
                "memory_gib": task.memory_gib,
                "cpu_cores": task.cpu_cores,
                "attempts": task.attempts,
                "advised_gib": list(task.advised_gib),
                "timeout_s": task.timeout_s,
            }
            for task in job.pipeline.tasks.values()
        },
        "parallel_tasks": job.pipeline.parallel_tasks,
        "sample_every_s": job.pipeline.sample_every_s,
        "node_memory_gib": job.pipeline.node_memory_gib,
        "bins_gib": list(job.pipeline.bins_gib),
        "allocations": allocations,
    }
