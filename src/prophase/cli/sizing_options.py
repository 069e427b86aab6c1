"""Options of commands that recommend requests: at which risk, of what, and when rather not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.settings import Formerly
from prophase.cli.trace_options import BY

if TYPE_CHECKING:
    from prophase.sizing.gpu_grants import GpuGrant
    from prophase.sizing.kind_recommendation import Gate

RISK = typer.Option(help="Share of runs that may be killed at their first request.")
RiskOption = Annotated[str | None, RISK]
MAX_OOM = typer.Option(help="Share of runs that may be killed before the verdict is no.")
MaxOomOption = Annotated[str | None, MAX_OOM]
MIN_SAVING = typer.Option(help="Share of what is reserved today that must be saved.")
MinSavingOption = Annotated[str | None, MIN_SAVING]
ResourceOption = Annotated[
    str,
    typer.Option(
        help="What is sized: memory, cpu, gpu, time; size and size replay: gpu-memory. auto: the "
        "first that the trace measures, time limits if it measures no use."
    ),
]
PRIOR = typer.Option(
    help="Whose runs may stand beside too few of a task's own: kind (the same kind of other "
    "tenants), tenant (other kinds of the same tenant). They never lower a request by themselves."
)
MIN_MEMORY = typer.Option(
    help="No request of memory is below this, unless the task asks for less today."
)
GroupOption = Annotated[str | None, BY, Formerly("--kind", "--keys")]


TaskMinSaving = Annotated[
    str,
    typer.Option(help="Tasks that would save less keep their request."),
    Formerly("--advise-above"),
]
TaskMaxOom = Annotated[
    str | None,
    typer.Option(
        help="Tasks killed more often in the back-test keep their request. "
        "[default: three times the risk, or today's share if higher]"
    ),
]


@dataclass(frozen=True)
class GateSettings:
    """When a task keeps its request."""

    min_runs: Annotated[
        int,
        typer.Option(
            help="Tasks with fewer runs keep their request; from half as many on (5 at least) five "
            "other tasks of the same tenant may show how far further runs go."
        ),
    ] = 10
    task_min_saving: TaskMinSaving = "0%"
    task_max_oom: TaskMaxOom = None
    prior: Annotated[str, PRIOR] = "none"
    min_memory: Annotated[str, MIN_MEMORY] = "32M"

    def gate(self, gpu_parts: tuple[GpuGrant, ...] = ()) -> Gate:
        """Return them as the recommender has them, for nodes that give these parts of a GPU."""
        from prophase.sizing.kind_recommendation import Gate
        from prophase.sizing.wider_level import known_prior

        most = self.task_max_oom
        return Gate(
            self.min_runs,
            units.parse_share(self.task_min_saving, where="--task-min-saving", below_one=True),
            None
            if most is None
            else units.parse_share(most, where="--task-max-oom", below_one=True),
            known_prior(self.prior, where="--prior"),
            gpu_parts,
            parse_min_memory(self.min_memory),
        )


def parse_min_memory(text: str) -> float:
    """Return the GiB of ``--min-memory``.

    Examples
    --------
    >>> parse_min_memory("512M")
    0.5
    """
    return units.parse_memory(text, g_is="binary", bare="GiB", where="--min-memory")
