"""What jobs ask for and use, and which laws describe them."""

from __future__ import annotations

from collections.abc import Mapping

from prophase import units
from prophase.plural import counted
from prophase.result import Block, Bullets, Chart, Note, Table, Tone
from prophase.stats import Estimate
from prophase.trace.describe.distribution import Distribution
from prophase.trace.describe.laws.arrival_fit import ArrivalFit, ArrivalLaws
from prophase.trace.describe.laws.service_fit import Fit, ServiceLaws
from prophase.trace.describe.load import LoadOverTime
from prophase.trace.describe.sections import percent
from prophase.trace.describe.utilisation import GroupUse, RequestUse, Utilisation

_MOST_ROWS = 20
_BEST = {
    "good": "The best AIC has {}, and it is a good fit.",
    "rough": "The best AIC has {}, which is only a rough fit.",
    "bad": "The best AIC has {}, and even that is a bad fit: do not rely on its formulas.",
}
#: how a fit is marked, and said in a word
_FITS: dict[str, tuple[Tone, str]] = {
    "good": ("good", "Good fit."),
    "rough": ("warning", "Rough fit."),
    "bad": ("bad", "Bad fit."),
}


def request_blocks(requests: Mapping[str, Distribution]) -> list[Block]:
    """Say what jobs ask for."""
    rows = tuple({"column": name, **values.row} for name, values in requests.items())
    said = [
        f"{name}: median {units.number(values.at('p50'))}, 95 % ask for at most "
        f"{units.number(values.at('p95'))}."
        for name, values in requests.items()
        if name.startswith("request_")
    ]
    return [Bullets(said), Table("requests", rows, "Requests per instance")]


def utilisation_blocks(utilisation: Utilisation) -> list[Block]:
    """Say how much of what was asked for was used."""
    said = [_sentence(resource) for resource in utilisation.resources]
    said += [
        f"{name}: not computable, {reason}." for name, reason in utilisation.not_computable.items()
    ]
    rows = tuple(
        {
            "resource": r.resource,
            "jobs": r.jobs,
            "utilisation_pct": percent(r.utilisation),
            "above_use_pct": percent(r.request_above_use_share),
            "above_2x_use_pct": percent(r.request_above_twice_use_share),
            "below_use_pct": percent(r.use_above_request_share),
            "median_request": r.median_request,
            "median_use": r.median_use,
            "unit": r.unit,
        }
        for r in utilisation.resources
    )
    caption = "Requests against use; above_use: the request exceeds the use"
    tables = [Table("utilisation", rows, caption)]
    tables += _by_group(utilisation, "task") + _by_group(utilisation, "workload")
    return [Bullets(said), *tables]


def load_blocks(load: LoadOverTime) -> list[Block]:
    """Say how full the cluster was, and how much ran and waited."""
    said = [f"At most {load.most_running:,.0f} jobs ran at once."]
    if load.mean_pct:
        means = ", ".join(f"{name} {mean:.0f} %" for name, mean in load.mean_pct.items())
        said.append(f"Requests of running jobs took, on average, of what all nodes have: {means}.")
    lines = [
        Chart(
            f"load-{unit}",
            title,
            "lines",
            [
                {"time_h": (time - load.time_s[0]) / 3600, **dict(zip(found, row, strict=True))}
                for time, *row in zip(load.time_s, *found.values(), strict=True)
            ],
            x="time_h",
            y=list(found),
            unit=unit,
            x_title="hours since the first start",
        )
        for title, unit, found in (
            ("How full the cluster was", "%", load.load_pct),
            ("Jobs running and waiting", "jobs", _queue(load)),
        )
        if found
    ]
    return [Bullets(said), *lines]


def _queue(load: LoadOverTime) -> dict[str, tuple[float, ...]]:
    return {"running": load.running} | ({"waiting": load.waiting} if load.waiting else {})


def _sentence(resource: RequestUse) -> str:
    left_out = (
        f" ({counted(resource.without, 'job')} without request, use or duration left out)"
        if resource.without
        else ""
    )
    return (
        f"{resource.resource}: {_percent(resource.used_pct)} of the request was used (weighted by "
        f"{resource.weighted_by}); {units.percent(resource.request_above_use_share)} of the "
        f"jobs asked for more than they used{left_out}."
    )


def _percent(share_pct: Estimate) -> str:
    """Write a share, with its interval if it has one."""
    said = units.percent(share_pct.value / 100)
    ends = [units.percent(end / 100) for end in (share_pct.low, share_pct.high)]
    return f"{said} (95 % CI {ends[0]} to {ends[1]})" if share_pct.known else said


def _by_group(utilisation: Utilisation, column: str) -> list[Table]:
    """Return one table for tasks or workloads, a column per resource, largest groups first."""
    rows: dict[str, dict[str, float | int | str]] = {}
    weight: dict[str, float] = {}
    for resource in utilisation.resources:
        found: tuple[GroupUse, ...] = getattr(resource, f"by_{column}")
        total = sum(group.allocated_hours for group in found) or 1.0
        for group in found:
            row = rows.setdefault(group.name, {column: group.name, "jobs": 0})
            row["jobs"] = max(int(row["jobs"]), group.jobs)
            row[f"{resource.resource} %"] = percent(group.utilisation)
            weight[group.name] = weight.get(group.name, 0.0) + group.allocated_hours / total
    if len(rows) < 2:
        return []
    shown = sorted(rows, key=lambda name: -weight[name])[:_MOST_ROWS]
    rest = f" ({len(rows) - len(shown)} smaller ones left out)" if len(rows) > len(shown) else ""
    caption = f"Utilisation by {column}, the largest allocations first{rest}"
    return [Table(f"utilisation by {column}", [rows[name] for name in shown], caption)]


def service_law_blocks(laws: ServiceLaws) -> list[Block]:
    """Say which law describes the run times, and whether it does."""
    sampled = (
        f"a sample of {laws.fitted:,} (seed {laws.seed}) of the {laws.positive:,}"
        if laws.fitted < laws.positive
        else f"all {laws.positive:,}"
    )
    left_out = [
        f"{number:,} {what}"
        for number, what in ((laws.zeros, "zero"), (laws.missing, "missing"))
        if number
    ]
    said = [
        f"Fitted to {sampled} run times above zero"
        + (f"; {' and '.join(left_out)} run times are left out." if left_out else "."),
        _BEST[laws.best.verdict].format(laws.best.law),
        *(fit.words for fit in laws.fits[:3]),
    ]
    closest = min(laws.fits, key=lambda fit: fit.ks)
    if closest.law not in [fit.law for fit in laws.fits[:3]]:
        said.append(f"Closest by distance: {closest.words}")
    said += [f"{name} was not fitted: {reason}." for name, reason in laws.not_fitted.items()]
    rows = [_law_row(fit, "p99_ratio", "aic_above_best", "mean_s") for fit in laws.fits]
    caption = (
        "Laws of the run time, best AIC first; ks is the greatest gap between the distribution "
        f"functions, p_value from a parametric bootstrap on {laws.best.p_values_used:,} values"
    )
    table = Table("service_laws", rows, caption)
    return _law_blocks(laws.best.words, laws.best.verdict, said, table)


def arrival_law_blocks(laws: ArrivalLaws) -> list[Block]:
    """Say which law describes the arrivals, and whether it does."""
    where = f" in {laws.stretches} stretches spread over the trace" if laws.stretches > 1 else ""
    said = [f"Fitted to {laws.gaps_fitted:,} gaps between {laws.arrivals:,} arrivals{where}."]
    if laws.resolution_s:
        said.append(
            f"Several jobs share a tick of the clock ({units.duration(laws.resolution_s)}); they "
            "are spread evenly over it before fitting."
        )
    said += [_BEST[laws.best.verdict].format(laws.best.law), *(fit.words for fit in laws.fits[:3])]
    said += [f"{name} was not fitted: {reason}." for name, reason in laws.not_fitted.items()]
    rows = [_law_row(fit, "dispersion", "aic_above_best") for fit in laws.fits]
    caption = (
        "Arrival laws, best AIC first; dispersion is what is left of the bursts after the law, "
        "1 if it explains them all"
    )
    table = Table("arrival_laws", rows, caption)
    return _law_blocks(laws.best.words, laws.best.verdict, said, table)


def _law_blocks(best: str, verdict: str, said: list[str], table: Table) -> list[Block]:
    """Return the judgement on fitted laws as something that cannot be overlooked, and the rest."""
    tone, title = _FITS[verdict]
    return [Note(best, tone, title), Bullets([text for text in said if text != best]), table]


def _law_row(fit: Fit | ArrivalFit, *columns: str) -> dict[str, object]:
    """Return a fit as a row: its law and distance, these columns, and its parameters."""
    said = ", ".join(f"{name} {units.number(value)}" for name, value in fit.parameters.items())
    return {
        "law": fit.law,
        "verdict": fit.verdict,
        "ks": round(fit.ks, 4),
        "p_value": round(fit.p_value, 4),
        **{name: getattr(fit, name) for name in columns},
        "parameters": said,
    }
