"""What the commands of prophase autoscale have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.phase.options import read_usage
from prophase.cli.settings import Formerly
from prophase.cli.split_options import TestOption, TestShareOption, TrainOption
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.autoscale.allocation_measures import Penalties
    from prophase.autoscale.fleet import Fleet
    from prophase.autoscale.objective import Objective
    from prophase.autoscale.policy_comparison import PolicyComparison

SeriesArgument = Annotated[
    Path | None,
    typer.Argument(metavar="SERIES", help="A workspace, or a file or folder with series."),
]


@dataclass(frozen=True)
class FleetSettings:
    """Which series are learnt from, with which phases, and what is allocated how often."""

    train: TrainOption = None
    test: TestOption = None
    allocate: Annotated[
        str | None,
        typer.Option(help="Column to allocate. [default: memory, else CPU, else GPU]"),
        Formerly("--metric"),
    ] = None
    decide_every: Annotated[
        int, typer.Option(min=1, help="Samples between two decisions."), Formerly("--every")
    ] = 5
    test_share: TestShareOption = "50%"
    phases: Annotated[
        str,
        typer.Option(
            "--phases-from",
            help="Where phases come from: crbm, hmm, windows, samples or change-points, learnt "
            "from training series (hmm:5 for five phases); a file of phase fit; or none (by hand).",
        ),
    ] = "crbm:5"


@dataclass(frozen=True)
class GoalSettings:
    """What is asked of policies, and which are tried."""

    satisfy: Annotated[
        str | None,
        typer.Option(help="Share of samples to satisfy. [default: 99%; memory: --kills vpa]"),
        Formerly("--target"),
    ] = None
    kills: Annotated[
        str | None,
        typer.Option(
            help="Memory kills allowed per pod-day, e.g. 0.5, or vpa: as many as VPA's rule has."
        ),
    ] = None
    policies: Annotated[
        str,
        typer.Option(
            help="Names joined by commas, e.g. all or priced,phase-ahead; baselines are always "
            "there."
        ),
    ] = "all"
    max_resizes: Annotated[
        float, typer.Option(min=0, help="Resizes per 1,000 samples that are allowed.")
    ] = 40.0

    def check(self) -> None:
        """Refuse a target that makes no sense, before anything is read."""
        satisfy, kills = self.satisfy, self.kills
        if satisfy is not None and kills is not None:
            raise ParameterError("give --satisfy or --kills, and not both.")
        if satisfy is not None and not 0.5 <= units.parse_share(satisfy, where="--satisfy") < 1:
            raise ParameterError(f"--satisfy is {satisfy}. Pass a share from 50% to below 100%.")
        if kills is not None and kills != "vpa":
            try:
                allowed = float(kills)
            except ValueError:
                allowed = -1.0
            if not 0 <= allowed < 1e6:
                raise ParameterError(
                    f"--kills is {kills}. Pass kills per pod-day such as 0.5, or vpa for the rate "
                    "of VPA's rule."
                )

    def objective(self, fleet: Fleet) -> Objective:
        """Return what is asked; of memory, as few kills as VPA's rule has by default."""
        from prophase.autoscale.objective import Objective, kill_objective, usual_objective

        if self.kills is not None:
            return kill_objective(fleet, None if self.kills == "vpa" else float(self.kills))
        if self.satisfy is None:
            return usual_objective(fleet)
        return Objective(units.parse_share(self.satisfy, where="--satisfy"))


def compared(
    path: Path | None,
    series: FleetSettings,
    goal: GoalSettings,
    *,
    seed: int,
    source: str | None,
    show: Callable[[str, float | None], None],
    also: str | None = None,
    penalties: Penalties | None = None,
) -> tuple[PolicyComparison, list[str]]:
    """Compare policies on series as asked; returns what was found and what was noted.

    Parameters
    ----------
    also : str, optional
        A policy that is tried beside those that the goal names.
    """
    from prophase.autoscale.policy_comparison import compare
    from prophase.study.phase_scaling import phases_for

    goal.check()
    names = _named_policies(goal.policies)
    if also is not None and also not in names:
        names.append(also)
    show("reading the series", None)
    learnt, judged, notes = _both_sides(path, series, seed, source)
    show("finding phases", None)
    labeller = phases_for(learnt, series.phases, random_state=seed)
    found = compare(
        learnt,
        judged,
        target=goal.objective(learnt),
        policies=names,
        max_resizes=goal.max_resizes,
        penalties=penalties,
        labeller=labeller,
        random_state=seed,
        progress=lambda name: show(name, None),
    )
    return found, notes


def _named_policies(text: str) -> list[str]:
    """Return the policies of an option; "all" stands for those that run by themselves."""
    from prophase.autoscale.policy_catalogue import available

    words = [word.strip() for word in text.split(",") if word.strip()]
    return [name for word in words for name in (available() if word == "all" else [word])]


def _both_sides(
    path: Path | None, asked: FleetSettings, seed: int, source: str | None
) -> tuple[Fleet, Fleet, list[str]]:
    """Return the series to learn from and to be judged on, and what was noted on the way."""
    from prophase.autoscale.fleet import fleet_of
    from prophase.autoscale.policy_comparison import divided

    fit, test, metric, every = asked.train, asked.test, asked.allocate, asked.decide_every
    if (fit is None) != (test is None):
        raise ParameterError("--train and --test go together.")
    if (path is None) == (fit is None):
        raise ParameterError("give either SERIES or --train and --test, and not both.")
    if fit is not None and test is not None:
        learnt, notes = fleet_of(read_usage(fit, source, None), metric, every=every)
        # the same metric on both sides, also when it was not named
        judged, more = fleet_of(read_usage(test, source, None), learnt.metric, every=every)
        told = [f"Fit: {note}" for note in notes] + [f"Test: {note}" for note in more]
        return learnt, judged, told
    assert path is not None
    whole, notes = fleet_of(read_usage(path, source, None), metric, every=every)
    share = units.parse_share(asked.test_share, where="--test-share")
    if not 0 < share < 1:
        raise ParameterError(f"--test-share is {asked.test_share}. Pass a share such as 50%.")
    learnt, judged = divided(whole, test_share=share, random_state=seed)
    return learnt, judged, list(notes)
