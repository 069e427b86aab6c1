"""Sizes as a Nextflow configuration: directives that grow with ``task.attempt``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prophase import units
from prophase.sizing.exports.kind_requests import KindRequests, LeftOut, whole

#: resource -> (directive, how a rung is written, what the number is multiplied with)
_DIRECTIVES: dict[str, tuple[str, Callable[[float], str], str]] = {
    "memory_gib": ("memory", lambda gib: str(units.whole_mib(gib)), " * 1.MB"),
    "cpu_cores": ("cpus", whole, ""),
    "gpus": ("accelerator", whole, ""),
    "time_limit_s": ("time", whole, " * 1.s"),
}
#: exit codes of a killed command, as nf-core has them
_KILLED = "[104, 134, 137, 139, 140, 143]"


def write(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return the text of a ``sizes.config``, for ``nextflow run -c``."""
    lines = ["process {"]
    for one in left_out.expressible(asked, _DIRECTIVES):
        name = one.pattern(".*").replace("\\", "\\\\").replace("'", "\\'")
        lines += [f"    // {one.comment}", f"    withName: '{name}' {{"]
        for resource, (directive, write_one, unit) in _DIRECTIVES.items():
            if resource in one.ladders:
                rungs = one.written(resource, write_one)
                at = f"[Math.min(task.attempt, {len(rungs)}) - 1]"
                lines.append(f"        {directive} = {{ [{', '.join(rungs)}]{at}{unit} }}")
        lines += [
            f"        errorStrategy = {{ task.exitStatus in {_KILLED} ? 'retry' : 'finish' }}",
            f"        maxRetries = {one.attempts - 1}",
            "    }",
        ]
    told = [f"// {said}" for said in left_out.sentences()]
    return "\n".join([*told, *lines, "}"]) + "\n"
