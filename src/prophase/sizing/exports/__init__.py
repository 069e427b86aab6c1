"""Recommended requests as the engines read them: what each kind asks for at each attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prophase.errors import ParameterError, not_among
from prophase.sizing.exports import argo, kubernetes, nextflow, python_modules, slurm, snakemake
from prophase.sizing.exports.kind_requests import KindRequests, LeftOut


@dataclass(frozen=True)
class EngineFile:
    """A file that an engine reads, and what it could not be told."""

    text: str
    left_out: tuple[str, ...] = ()


#: engine -> (how it is called, writer)
ENGINES: dict[str, tuple[str, Callable[[Sequence[KindRequests], LeftOut], str]]] = {
    "kubernetes": ("Kubernetes", kubernetes.write),
    "argo": ("Argo Workflows", argo.write),
    "flyte": ("Flyte", python_modules.flyte),
    "airflow": ("Airflow", python_modules.airflow),
    "nextflow": ("Nextflow", nextflow.write),
    "snakemake": ("Snakemake", snakemake.write),
    "slurm": ("Slurm", slurm.write),
    "ray": ("Ray", python_modules.ray),
}

#: source of a trace -> the engine its jobs ran on
_ENGINE_OF = {
    "nextflow": "nextflow",
    **dict.fromkeys(("sacct", "swf", "drac", "mit-supercloud", "surf-lisa"), "slurm"),
}


def engine_of(source: str) -> str:
    """Return the engine that jobs of a source ran on, as ``prophase size --export`` names it.

    Examples
    --------
    >>> engine_of("sacct"), engine_of("csv")
    ('slurm', 'kubernetes')
    """
    return _ENGINE_OF.get(source, "kubernetes")


def write_for(engine: str, asked: Sequence[KindRequests]) -> EngineFile:
    """Return the file that makes an engine ask for what is recommended.

    Parameters
    ----------
    engine : str
        One of :data:`ENGINES`.
    asked : sequence of KindRequests
        What each kind asks for; :func:`kind_requests` makes it of recommendations.

    Examples
    --------
    >>> asked = [KindRequests("align", {"memory_gib": (2.0, 4.0), "gpu_memory_gib": (8.0,)})]
    >>> made = write_for("slurm", asked)
    >>> print(made.text, end="")
    # Left out, GPU memory: Slurm has no request for it (1 kind).
    # align
    #SBATCH --mem=2048M
    # if attempt 1 was killed: sbatch --mem=4096M
    """
    if engine not in ENGINES:
        raise ParameterError(not_among(f"engine {engine!r} is unknown.", engine, ENGINES))
    name, write = ENGINES[engine]
    if engine not in _BY_TENANT:
        _reject_equal_names(asked, name)
    left_out = LeftOut(name)
    text = write(asked, left_out)
    if asked and not left_out.wrote:
        raise ParameterError(
            f"Nothing can be exported for {name}. {' '.join(left_out.sentences())} "
            "Use --export csv or json, another resource, or --by with columns that name the work."
        )
    return EngineFile(text, tuple(left_out.sentences()))


#: engines whose files say whose jobs are meant; in others a name would cross tenants
_BY_TENANT = ("kubernetes", "slurm")


def _reject_equal_names(asked: Sequence[KindRequests], engine: str) -> None:
    tenants: dict[str, set[str]] = {}
    for one in asked:
        tenants.setdefault(one.kind, set()).add(one.tenant)
    for kind, several in tenants.items():
        if len(several) > 1:
            raise ParameterError(
                f"{kind!r} is a kind of {' and of '.join(sorted(several))}, but {engine} knows it "
                f"by its name alone. Export one tenant at a time: --tenant {min(several)!r}."
            )
