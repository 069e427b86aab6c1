"""Tables of the thesis that do not agree with each other, found from the printed numbers."""

from __future__ import annotations

from prophase.json_types import JsonObject
from prophase.papers.claims import claim_row
from prophase.papers.thesis import published_tables as published
from prophase.sizing.bins.scores import PENALTY, estimated_improvement


def _contradiction(where: str, what: str, first: str, second: str, reason: str) -> JsonObject:
    """Return a row of two printed numbers that cannot both be right."""
    return claim_row(where, what, f"{first}; {second}", "-", "contradicted", reason)


def contradictions() -> list[JsonObject]:
    """Return every disagreement between tables, in the order of the tables.

    Examples
    --------
    >>> [one["item"] for one in contradictions()][:2]
    ['Tables 4, 6 and 12', 'Tables 4 and 12']
    """
    return [*_allocations(), *_best_scores(), *_chosen_models()]


def implied_u_rate(accuracy: float, u_score: float, penalty: float = PENALTY) -> float:
    """Return the u_rate (%) that accuracy (%) and u_score leave no choice about.

    O + U = 100 - accuracy and O + penalty x U = u_score.

    Examples
    --------
    >>> round(implied_u_rate(97.5, 4.5), 1)
    0.2
    """
    return (u_score - (100 - accuracy)) / (penalty - 1)


def bins_words(edges: tuple[int, ...]) -> str:
    """Return the edges of bins as the tables write them."""
    return "; ".join(map(str, edges))


def _allocations() -> list[JsonObject]:
    groups, steps = published.TABLE_4, published.TABLE_12
    tops = {edges[-1] for task, edges in published.TABLE_6 if task == "heavy task 2"}
    static = groups["memory-intensive"].memory_gb
    found = [
        _contradiction(
            "Tables 4, 6 and 12",
            "what heavy task 2 asked for",
            f"{static:g} GB (4), {min(tops):g} GB (6)",
            f"{steps['heavy task 2'].before:g} GB (12)",
            f"Table 13 counts {static:g} GB before and 30.3 % of "
            f"{steps['heavy task 2'].before:g} GB after; with {static:g} GB in both a run would "
            f"ask for {_run_with_one_allocation():.0f} GB instead of 325",
        )
    ]
    others = published.LIGHT_TASKS + published.MODERATE_TASKS
    left = sum(g.tasks * g.memory_gb for g in groups.values()) - 2 * static
    least = min(steps[kind].before for kind in ("light", "moderate"))
    if least * others > left:
        found.append(
            _contradiction(
                "Tables 4 and 12",
                "memory of light and moderate tasks",
                f"{left / others:.1f} GB on average (4)",
                f"{steps['light'].before:g} and {steps['moderate'].before:g} GB (12)",
                f"the {others} tasks share {left:g} GB in Table 4; no mix of them can have the "
                "averages of Table 12, unless it counts runs instead of tasks",
            )
        )
    cores = (
        sum(g.tasks * g.cores for g in groups.values())
        - groups["parallel"].tasks * groups["parallel"].cores
    )
    mean = cores / (published.TASK_COUNT - published.PARALLEL_TASKS)
    if abs(mean - steps["non-parallel"].before) > 0.05:
        found.append(
            _contradiction(
                "Tables 4 and 12",
                "cores of non-parallel tasks",
                f"{mean:.2f} on average (4)",
                f"{steps['non-parallel'].before:g} (12)",
                "the 23 tasks share 112 cores in Table 4",
            )
        )
    return found


def _run_with_one_allocation() -> float:
    static = published.TABLE_4["memory-intensive"].memory_gb
    steps = published.TABLE_12
    return (
        published.LIGHT_TASKS * (steps["light"].after or 0)
        + published.MODERATE_TASKS * (steps["moderate"].after or 0)
        + sum(static * (1 - steps[task].improved / 100) for task in published.TASKS)
    )


def _best_scores() -> list[JsonObject]:
    """Tables 7 and 8 claim the best u_score of each classifier; 9 and 10 list all of them."""
    found = []
    for (task, edges, classifier), (_, claimed) in published.TABLES_7_8.items():
        listed = published.TABLES_9_10[classifier, task, edges]
        if abs(min(listed) - claimed) > 0.05:
            one = 7 if task == "heavy task 1" else 8
            other = 9 if classifier == "svm" else 10
            found.append(
                _contradiction(
                    f"Tables {one} and {other}",
                    f"best u_score of {classifier}, {task}, {bins_words(edges)}",
                    f"{claimed} ({one})",
                    f"{min(listed)} ({other})",
                    f"the best of {', '.join(map(str, listed))} is {min(listed)}",
                )
            )
    return found


def _chosen_models() -> list[JsonObject]:
    """Table 11 shows "the best model performances"; u_score is said to be the primary metric."""
    found = []
    for (task, edges), row in published.TABLE_11.items():
        of_kind = {c: published.TABLES_7_8[task, edges, c] for c in ("xgboost", "svm")}
        best = min(of_kind, key=lambda name: of_kind[name][1])
        if abs(of_kind[best][0] - row.accuracy) > 0.05:
            other = next(name for name in of_kind if name != best)
            accuracy, u_score = of_kind[best]
            u_rate = implied_u_rate(accuracy, u_score)
            would = estimated_improvement(row.optimal, accuracy, u_rate)
            found.append(
                _contradiction(
                    f"Tables {7 if task == 'heavy task 1' else 8} and 11",
                    f"best model, {task}, {bins_words(edges)}",
                    f"{best}, u_score {u_score}",
                    f"{other}, u_score {of_kind[other][1]}",
                    f"Table 11 takes the model with the worse u_score; the other would be "
                    f"estimated at {would:.1f} % instead of {row.estimated}",
                )
            )
    return found
