"""Section III up to the fixed labels: the sample, recurrence, clusterability, Table II."""

from __future__ import annotations

from collections.abc import Iterator

from prophase.array_types import Floats
from prophase.papers.claims import PublishedClaim, verdict_on
from prophase.papers.polaris.paper_data import Inputs
from prophase.papers.polaris.published_claims import (
    CHOSEN_SILHOUETTE,
    FETCH_ROWS,
    FETCH_TRACE,
    HOPKINS,
    SAMPLED,
    TABLE_I,
)
from prophase.profile.clusters.clusterability import (
    PUBLISHED_TABLE_II,
    RANDOM_FROM,
    fixed_label_silhouettes,
    hopkins,
)
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.recurrence import describe_recurrence
from prophase.trace.sample import sample_sizes


def sample_items(inputs: Inputs) -> Iterator[PublishedClaim]:
    """Table I: the sizes of the sample follow from the sizes in the trace."""
    drawn = sample_sizes({name: size for name, (size, _) in TABLE_I.items()}, SAMPLED - 1)
    same = sum(drawn[name] == printed for name, (_, printed) in TABLE_I.items())
    total = sum(drawn.values())
    yield PublishedClaim(
        "Table I", "nine strata sampled in proportion", f"9 sizes, {SAMPLED:,} in all",
        f"{same} of 9 equal, {total:,} in all", verdict_on(same == 9 and total == SAMPLED),
        f"each stratum's share of {SAMPLED - 1:,}, rounded on its own",
        "the printed sizes",
    )  # fmt: skip
    rows = sum(size for size, _ in TABLE_I.values())
    yield PublishedClaim.waiting(
        "Table I, rows", "terminated instances of known workload", f"{rows:,}",
        f"{FETCH_TRACE}, then prophase import pai2020, which joins sensors by (inst_id, "
        "worker_name); the authors' join by inst_id alone multiplies rows",
    )  # fmt: skip


def recurrence_items(inputs: Inputs) -> Iterator[PublishedClaim]:
    """Section I: how many jobs come back."""
    claim, published = "between 40 % and 60 % of workloads recur", "40-60 %"
    found = describe_recurrence(inputs.rows)
    if isinstance(found, NotComputable):
        yield PublishedClaim.waiting("Section I", claim, published, FETCH_ROWS, data=inputs.origin)
        return
    share = 100 * found.best.seen_before_share
    ours = f"{share:.0f} % by {found.best.key}"
    if not inputs.whole:
        # a thin sample misses most earlier runs of a job, a synthetic one proves nothing
        yield PublishedClaim.waiting(
            "Section I", claim, published, FETCH_TRACE, ours=f"at least {ours}", data=inputs.origin
        )
        return
    reason = "a sample of the trace misses earlier runs, so this is a lower bound"
    yield PublishedClaim(
        "Section I", claim, published, ours, verdict_on(share >= 40), reason, inputs.origin
    )  # fmt: skip


def clusterability_items(inputs: Inputs) -> Iterator[PublishedClaim]:
    """Hopkins statistic of the 17 metrics."""
    values = _transformed(inputs)
    found = hopkins(values, random_state=0)
    ours = f"{found.statistic:.4f} (spread {found.spread:.4f})"
    claim = f"far below {RANDOM_FROM}, so there are clusters"
    reason = "" if inputs.whole else f"the value itself needs the {SAMPLED:,} rows: {FETCH_ROWS}"
    verdict = verdict_on(found.clustered, real=inputs.whole)
    yield PublishedClaim("Hopkins", claim, str(HOPKINS), ours, verdict, reason, inputs.origin)


def fixed_label_items(inputs: Inputs, profiler: WorkloadProfiler) -> Iterator[PublishedClaim]:
    """Table II: metadata columns taken as profiles, beside the profiles found by use."""
    claim = "labels group jobs worse than clusters do"
    printed = max(max(row.values()) for row in PUBLISHED_TABLE_II.values())
    published = f"silhouette {printed} against {CHOSEN_SILHOUETTE}"
    if any(name not in inputs.rows for name in ("workload", "task")):
        yield PublishedClaim.waiting("Table II", claim, published, FETCH_ROWS, data=inputs.origin)
        return
    table = fixed_label_silhouettes(inputs.rows, _transformed(inputs)).set_index("label")
    numbers = table[["euclidean", "cosine", "manhattan"]].to_numpy(float)
    clustered = float(profiler.statistics_["silhouette"])
    ours = f"silhouette {numbers.max():.2f} against {clustered:.2f}"
    outside = float((profiler.labels_ == OUTLIERS).mean())
    reason = f"but clusters leave {outside:.0%} of the jobs out as outliers, labels none"
    if inputs.whole:
        off = max(
            abs(float(table[distance][label]) - value)
            for label, row in PUBLISHED_TABLE_II.items()
            for distance, value in row.items()
        )
        reason += f"; the largest of the nine differences is {off:.2f}"
    verdict = verdict_on(float(numbers.max()) < clustered, real=inputs.whole)
    yield PublishedClaim("Table II", claim, published, ours, verdict, reason, inputs.origin)


def _transformed(inputs: Inputs) -> Floats:
    values = usage_features(inputs.rows).values
    return fit_transform("power", values)(values)
