"""A validation as a result: observed beside simulated waits, and for which classes it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prophase import units
from prophase.plain import finite
from prophase.result import Bullets, Result, Section, Table, Tone
from prophase.sim.cluster import PLENTY
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_MEMORY, CPU, MEMORY
from prophase.sim.validation.rules_trial import RulesTrial
from prophase.sim.validation.wait_validation import Validation

_VERDICTS: dict[bool | None, tuple[Tone, str]] = {
    True: ("good", "Valid."),
    False: ("bad", "Not valid."),
    None: ("warning", "Cannot tell."),
}
#: what a terminal has room for
_COLUMNS = (
    "class jobs observed_mean_s simulated_mean_s error_pct p50_observed_s p50_simulated_s "
    "p90_observed_s p90_simulated_s ks rank_correlation valid"
).split()


def never_limited(schedule: JobTimes) -> list[str]:
    """Say which resource jobs ask for that the nodes do not state, so that nobody waits for it."""
    workload, nodes = schedule.workload, schedule.cluster.matrix
    found = []
    for name, asked, column, form in (
        ("cores", ASK_CPU, CPU, "100x8 96c"),
        ("memory", ASK_MEMORY, MEMORY, "100x8 96c 512g"),
    ):
        jobs = int((workload.asks[:, asked] > 0).sum())
        if jobs and (nodes[:, column] >= PLENTY).any():
            bare = int(((workload.asks[:, asked] > 0) & (workload.asks[:, ASK_GPUS] == 0)).sum())
            limit = "never limits" if name == "memory" else "never limit"
            found.append(
                f"The nodes state no {name}, so {name} {limit}: {jobs:,} of {len(workload):,} "
                f"jobs ask for {name}, {bare:,} of them for no GPU. State them, such as "
                f"--cluster '{form}'."
            )
    return found


def validation_result(found: Validation, trial: RulesTrial | None = None, **values: Any) -> Result:
    """Return how well a replay meets the trace; ``values`` stand before its numbers in JSON.

    With a trial, its replay is the one that was scored.
    """
    tone, word = _VERDICTS[found.verdict.valid]
    sections, tables, notes = _sections(found), list(_tables(found)), list(_notes(found))
    if trial is not None:
        said = Bullets(trial.rules.words() or ["none"])
        heading = "Rules learnt from the first half"
        sections.insert(0, Section("learnt_rules", heading, [said, *trial.tables()]))
        tables += trial.tables()
        notes += [f"Learnt rule: {rule}." for rule in trial.rules.words()]
        notes.append(f"{trial.words()}.")
        values = {**values, "learnt": trial.to_dict()}
    return Result(
        "validate",
        title="Validation of a simulation",
        question=f"{len(found.jobs):,} jobs scored",
        answer=f"{found.verdict.words}.",
        tone=tone,
        verdict=word,
        sections=sections,
        tables=tables,
        notes=notes,
        records=found.rows(),
        values=finite({**values, **found.to_dict()}),
    )


def _tables(found: Validation) -> Iterator[Table]:
    rows = [{name: row[name] for name in _COLUMNS if name in row} for row in found.rows()]
    yield Table("waits", rows)
    total = next(iter(found.scores.values()), None)
    if total is not None:
        guesses = [
            ("simulation", total.mae_s, total.ks.value),
            ("nobody waits", total.mae_zero_s, total.ks_zero),
            ("observed median", total.mae_median_s, total.ks_median),
        ]
        yield Table(
            "guesses",
            [{"guess": name, "mean_absolute_error_s": mae, "ks": ks} for name, mae, ks in guesses],
            "Guesses that learn nothing, on all jobs",
        )
    if found.theory is not None:
        pool = f"one pool of {found.theory.servers:,} {found.theory.resource}"
        caption = f"Trace, simulation and formulas: {found.theory.jobs:,} jobs on {pool}"
        yield Table("theory", found.theory.rows(), caption)


def _notes(found: Validation) -> Iterator[str]:
    total = next(iter(found.scores.values()), None)
    if total is not None:
        bias, rank = total.bias_s, total.rank_correlation
        if bias.known:
            yield (
                f"95 % intervals over {total.days} days: bias {units.number(bias.low)} to "
                f"{units.number(bias.high)} s, KS {total.ks.low:.2f} to {total.ks.high:.2f}"
                + (f", rank correlation {rank.low:.2f} to {rank.high:.2f}." if rank else ".")
            )
        else:
            yield f"No intervals: {bias.reason}."
        for name, (observed, simulated) in found.utilisation.items():
            said = f"Busy {name}: {observed:.1%} observed, {simulated:.1%} simulated."
            if observed > 1:
                said += " The trace held more than this cluster has: name the one it ran on."
            yield said
    if found.theory is None:
        yield f"Formulas: not computable: {found.theory_missing}"
    else:
        yield from (f"{one.view}: {one.note}." for one in found.theory.columns if one.note)
        yield from found.theory.verdict
    for reason, count in found.left_out.items():
        yield f"Not scored: {count:,} jobs, {reason}."
    yield from found.notes
    yield ""
    yield from (f"{verdict.name}: {verdict.words}." for verdict in found.verdicts)


def _sections(found: Validation) -> list[Section]:
    """Return what a page shows; plots adds the figures."""
    limits = found.thresholds
    said = (
        f"Limits: mean off by {limits.mean_error:.0%}, quantiles by {limits.quantile_error:.0%}, "
        f"KS {limits.ks:g}, rank correlation {limits.rank_correlation:g}, at least "
        f"{limits.least_jobs:,} jobs; waits up to {limits.negligible_s:g} s count as none."
    )
    verdicts = [f"{verdict.name}: {verdict.words}." for verdict in found.verdicts]
    notes = [f"{count:,} jobs not scored: {why}." for why, count in found.left_out.items()]
    notes += found.notes
    sections = [
        Section("verdicts", "Verdict by class", [Bullets(verdicts), Bullets([said])]),
        Section(
            "waits", "Waits", [Table("waits", found.rows(), "Observed beside simulated waits.")]
        ),
        Section("left_out", "Left out", [Bullets(notes)] if notes else []),
    ]
    if found.theory is not None:
        table = Table("theory", found.theory.rows(), "Trace, simulation and queueing formulas.")
        formulas = Section("formulas", "Formulas", [Bullets(found.theory.verdict), table])
        sections.insert(2, formulas)
    return sections
