"""Which foreign column is which of ours: by the ideas in its name and the kind of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophase.trace.identity.folding import folded
from prophase.trace.mapping.column_mapping import TEXT_UNITS
from prophase.trace.mapping.column_traits import ColumnTraits, words_of
from prophase.trace.mapping.column_vocabulary import (
    AFTERWARDS,
    BEFOREHAND,
    EXIT_CODES,
    FOREIGN_UNITS,
    NAMED_BY_IDEAS,
    QUEUE_WORDS,
    STATUS_WORDS,
    SUCCESS,
)
from prophase.trace.mapping.unit_guesses import (
    CLOCK_COLUMNS,
    UnitGuess,
    as_requests_mean,
    as_slurm_means,
    unit_for,
)
from prophase.trace.schema import SCHEMAS, Column
from prophase.units.parsers import CONVERTIBLE, SECONDS, factor_to

_ALTERNATIVES = {
    table: {
        target: [frozenset(ideas.split("+")) for ideas in names.split()]
        for target, names in targets.items()
    }
    for table, targets in NAMED_BY_IDEAS.items()
}
#: columns that may have further words in their name, such as norm_job_submit_time
_LOOSE = frozenset(
    "job_id user queue submit_s start_s end_s status node_id series_id time_s".split()
)
#: that many users of a job each are no users
_MANY = 50
_RESOURCES = frozenset("cpu gpu memory request type limit capacity".split())
#: cells that say whether, not which
_SWITCHES = frozenset("true false yes no y n t f on off none".split())
#: times that are set beforehand
_BOUNDS = frozenset("request limit deadline submit".split())


@dataclass(frozen=True)
class ColumnMatch:
    """One of our columns, the foreign one that fills it, and how certain that is."""

    target: Column
    look: ColumnTraits
    unit: str | None
    certainty: str
    why: str


def table_of(looks: Sequence[ColumnTraits], file_name: str = "") -> str:
    """Return which of our tables these columns are most like."""
    ideas = [look.known_ideas for look in looks]
    lives = any(
        words & {"submit", "start", "end"}
        or words >= {"job", "id"}
        or (words & {"duration", "wall", "walltime", "wait"} and not words & _RESOURCES)
        for words in ideas
    )
    repeats = any(
        look.known_ideas & {"id", "series", "node", "job"} and 2 * look.distinct < len(look.cells)
        for look in looks
    )
    sampled = any("timestamp" in words for words in ideas)
    begun = any(words & {"submit", "start", "end"} for words in ideas)
    if sampled and not begun and (repeats or not lives) and match_columns("usage", looks):
        return "usage"
    titled = set(words_of(file_name))
    capacities = sum(bool({"cpu", "gpu", "memory", "capacity"} & words) for words in ideas)
    named = any("node" in words and words <= {"node", "id", "name"} for words in ideas)
    if lives or titled & {"job", "jobs", "pod", "pods", "task", "tasks"}:
        return "jobs"
    keyed = any(match.target.name == "node_id" for match in match_columns("nodes", looks))
    return "nodes" if keyed and (named or capacities >= 2) else "jobs"


def match_columns(table: str, looks: Sequence[ColumnTraits]) -> list[ColumnMatch]:
    """Return the best column for each of ours; no column is used twice."""
    chosen = _best(table, looks)
    duration = chosen.get("duration_s")
    if duration is not None:
        timed = _against_the_clock(duration, chosen)
        if timed is None:
            others = [look for look in looks if look is not duration.look]
            return match_columns(table, others)
        chosen["duration_s"] = timed
    if table == "jobs":
        _use_is_peak(chosen)
        if "job_id" not in chosen:
            _give_an_id(chosen, looks)
        _name_by_id(chosen)
        _give_a_status(chosen, looks)
        _against_run_times(chosen)
    return [chosen[name] for name in _ALTERNATIVES[table] if name in chosen]


def _best(table: str, looks: Sequence[ColumnTraits]) -> dict[str, ColumnMatch]:
    schema = SCHEMAS[table]
    scored: list[tuple[float, int, ColumnMatch]] = []
    for order, (target, alternatives) in enumerate(_ALTERNATIVES[table].items()):
        column = schema.get(target)
        for look in looks:
            ideas, strange = _ideas_for(table, look, target)
            if column is None or ideas not in alternatives:
                continue
            match = _fit(column, look, looks)
            if match is not None:
                if strange:
                    match = replace(
                        match, certainty="unsure", why=f"{match.why}; some words unclear"
                    )
                place = alternatives.index(ideas) + 2 * strange
                scored.append((place + _handicap(column, look), order, match))
    chosen: dict[str, ColumnMatch] = {}
    used: set[str] = set()
    for _, _, match in sorted(scored, key=lambda entry: entry[:2]):
        if match.target.name not in chosen and match.look.name not in used:
            chosen[match.target.name] = match
            used.add(match.look.name)
    return chosen


def column_named(name: str) -> tuple[Column, float] | None:
    """Return which column of the job table a foreign name means, and what its numbers are times.

    Examples
    --------
    >>> column, factor = column_named("mem_per_pod_MiB")
    >>> column.name, factor
    ('request_memory_gib', 0.0009765625)
    >>> column_named("colour") is None
    True
    """
    look = ColumnTraits(name, ())
    found = [
        (alternatives.index(look.ideas), column)
        for target, alternatives in _ALTERNATIVES["jobs"].items()
        if look.ideas in alternatives and (column := SCHEMAS["jobs"].get(target)) is not None
    ]
    if not found:
        return None
    column = min(found, key=lambda entry: entry[0])[1]
    if look.unit is None:
        return column, 1.0
    # memory in percent says no amount
    known = look.unit.lower() in CONVERTIBLE.get(column.unit or "", {})
    return (column, factor_to(str(column.unit), look.unit)) if known else None


def _use_is_peak(chosen: dict[str, ColumnMatch]) -> None:
    """Take the one number of memory used per job for its peak: that is what schedulers record."""
    used, column = chosen.get("memory_mean_gib"), SCHEMAS["jobs"].get("memory_peak_gib")
    if used is None or column is None or "memory_peak_gib" in chosen:
        return
    if "mean" not in used.look.ideas:
        del chosen["memory_mean_gib"]
        why = f"{used.why}, taken as the peak; if it is a mean, call it memory_mean_gib"
        chosen["memory_peak_gib"] = replace(used, target=column, certainty="unsure", why=why)


def _give_an_id(chosen: dict[str, ColumnMatch], looks: Sequence[ColumnTraits]) -> None:
    """Name jobs by a column that has another value in every row, if there is one."""
    taken = {match.look.name: name for name, match in chosen.items()}
    for look in looks:
        namelike = look.known_ideas & {"id", "name"} and not look.form
        if namelike and look.unique and taken.get(look.name, "name") in ("name", "task"):
            chosen.pop(taken.get(look.name, ""), None)
            column = SCHEMAS["jobs"].get("job_id")
            if column is not None:
                why = "a value of its own in every row"
                chosen["job_id"] = ColumnMatch(column, look, None, "likely", why)
            return


def _give_a_status(chosen: dict[str, ColumnMatch], looks: Sequence[ColumnTraits]) -> None:
    """Tell how jobs ended by an exit code or by whether they succeeded, if nothing else does."""
    column = SCHEMAS["jobs"].get("status")
    if "status" in chosen or column is None:
        return
    for look in looks:
        # of a success, 1 is not an exit code
        told = SUCCESS if not look.numeric else frozenset()
        if look.present and {*look.words} & (EXIT_CODES | told) and all(map(end_of, look.common)):
            chosen["status"] = ColumnMatch(column, look, None, "likely", "it says how jobs ended")
            return


def end_of(word: str) -> str | None:
    """Return how a job ended that gave this exit code, or of which this was said; None if unclear.

    Examples
    --------
    >>> end_of("0"), end_of("1:0"), end_of("True"), end_of("A100")
    ('completed', 'failed', 'completed', None)
    """
    plain = word.strip().lower()
    if plain in STATUS_WORDS:
        return STATUS_WORDS[plain]
    if plain in ("true", "false", "yes", "no"):
        return "completed" if plain in ("true", "yes") else "failed"
    if not re.fullmatch(r"-?\d+(\.0)?(:\d+)?", plain):
        return None
    return "failed" if plain.strip("-0.:") else "completed"


def _against_run_times(chosen: dict[str, ColumnMatch]) -> None:
    """Find the unit of bare time limits: hardly a job runs longer than its limit."""
    limit = chosen.get("time_limit_s")
    if limit is None or limit.certainty != "unsure" or limit.look.form is not None:
        return
    clocks = {name: _seconds(chosen[name]) for name in ("start_s", "end_s") if name in chosen}
    if "duration_s" in chosen and chosen["duration_s"].look.form is None:
        run = _seconds(chosen["duration_s"])
    elif len(clocks) == 2:
        run = clocks["end_s"] - clocks["start_s"]
    else:
        return
    for unit, words in (("s", "seconds"), ("min", "minutes"), ("h", "hours")):
        ends = limit.look.by_row * factor_to("s", unit)
        both = np.isfinite(run) & np.isfinite(ends)
        if both.any() and np.mean(run[both] <= 1.05 * ends[both] + 120) > 0.95:
            why = f"no unit in the name; no job runs longer than these {words}"
            chosen["time_limit_s"] = replace(limit, unit=unit, why=why)
            return


def _name_by_id(chosen: dict[str, ColumnMatch]) -> None:
    """Take the id for the name as well if it is one with a running number or what pods end in."""
    given, column = chosen.get("job_id"), SCHEMAS["jobs"].get("name")
    if given is None or column is None or {"name", "task", "workload"} & chosen.keys():
        return
    cells = given.look.present
    names = {folded(cell) for cell in cells}
    worded = all(any(map(str.isalpha, name)) for name in names)
    if worded and _OFTEN * len(names) <= len(cells) and given.look.unique:
        why = "the id without its numbers comes back"
        chosen["name"] = replace(given, target=column, certainty="likely", why=why)


#: how often a name must come back on average to be one
_OFTEN = 3


def known_beforehand(look: ColumnTraits) -> bool | None:
    """Return whether a further column is known at submit time; None if its name does not say."""
    ideas = look.ideas | set(look.words)
    if look.ideas == {"node", "type"}:
        return True
    if ideas & AFTERWARDS or look.unit in ("percent", "fraction"):
        return False
    if not ideas & _BOUNDS and (look.unit in SECONDS or "time" in look.words):
        # GPU hours and loading times are measured; limits and deadlines are set
        return None
    if "network" in ideas and look.unit is not None:
        return None
    if look.ideas and look.ideas <= _RESOURCES:
        return True
    return True if ideas & BEFOREHAND else None


def _ideas_for(table: str, look: ColumnTraits, target: str) -> tuple[frozenset[str], bool]:
    """Return the ideas to match, and whether words we do not know were left out for it.

    Percent of a CPU is use, unless it was requested.
    """
    ideas = look.ideas
    measured = look.unit in ("percent", "fraction") or "rss" in look.words
    if table == "jobs" and measured and ideas in ({"cpu"}, {"gpu"}, {"memory"}):
        return ideas | {"use"}, False
    if table == "jobs" and ideas == {"queue"} and look.numeric and "time" in look.words:
        return frozenset({"wait"}), False
    strange = ideas - look.known_ideas
    clock = target != "time_s" and "timestamp" in ideas
    if strange and target in _LOOSE and not strange & FOREIGN_UNITS and not clock:
        return look.known_ideas, True
    return ideas, False


def _fit(column: Column, look: ColumnTraits, looks: Sequence[ColumnTraits]) -> ColumnMatch | None:
    """Return the match if the values can fill the column."""
    if column.kind == "text":
        return _text_match(column, look)
    if not look.present:
        return None
    written = look.form is not None and TEXT_UNITS[look.form][0] == column.unit
    if not look.numeric and not written:
        return None
    if look.numeric and column.low == 0 and np.mean(look.numbers < 0) > 0.5:
        return None
    spans = {"time", "hours", "seconds"} & set(look.words)
    if column.unit in ("cores", "GPUs") and (spans or look.unit in ("s", "h", "min", "ms")):
        return None
    if column.unit in ("cores", "GPUs") and look.unit in ("bytes", "KB", "MB", "GB", "MiB", "GiB"):
        return None
    if column.unit not in ("", *CONVERTIBLE) and look.unit not in (None, "bytes"):
        return None
    shares = look.unit in ("percent", "fraction")
    if column.unit == "GiB" and shares:
        return None
    if look.percent_signs and "percent" not in CONVERTIBLE.get(column.unit, {}):
        return None
    if column.name == "memory_util_frac" and (not shares or np.max(look.numbers) > 1.5):
        return None
    if column.unit in ("cores", "%") and look.numbers.size and np.max(look.numbers) > 1e6:
        return None
    if (
        column.name == "cpu_cores"
        and column.known == "after"
        and {"num", "count"} & set(look.words)
    ):
        return None
    if column.name == "cpu_util_pct" and not shares and "use" not in look.ideas:
        return None
    if look.words in (("run",), ("request",), ("requests",)):
        return None
    if "epoch" in look.words and look.numeric and np.max(look.numbers) < 1e8:
        return None
    guess = as_requests_mean(as_slurm_means(unit_for(column, look), looks), look, looks)
    if column.name == "cpu_cores" and (shares or guess.unit == "percent"):
        return None
    return _number_match(column, look, guess)


def _text_match(column: Column, look: ColumnTraits) -> ColumnMatch | None:
    keyed = column.name in ("job_id", "node_id", "parent_id")
    if not look.present:
        if keyed or column.name == "series_id":
            return None
        return ColumnMatch(column, look, None, "unsure", "empty in the first rows")
    if look.numeric and {"num", "count", "total"} & set(look.words):
        return None
    if keyed:
        return _id_match(column, look)
    worded = column.name in ("status", "gpu_type", "features", "workload", "task", "name")
    shared = column.name in ("user", "group", "queue")
    if column.name == "gpu_type" and not look.ideas & {"type"}:
        # a name such as accelerator means types where its cells are words
        types = [cell for cell in look.present if any(map(str.isalpha, cell))]
        if len(types) < len(look.present) or {*map(str.lower, look.common)} <= _SWITCHES:
            return None
        return ColumnMatch(column, look, None, "likely", f"words such as {look.common[0]!r}")
    if (worded and look.numeric) or (shared and look.unique and len(look.cells) > _MANY):
        return None
    return ColumnMatch(column, look, None, "sure", "the name says so")


def _number_match(column: Column, look: ColumnTraits, guess: UnitGuess) -> ColumnMatch:
    certainty, why = guess.certainty, guess.why
    if column.name.startswith("request_") and look.ideas in ({"cpu"}, {"memory"}, {"gpu"}):
        if look.ideas == {"memory"}:
            certainty = "unsure"
        elif certainty == "sure":
            certainty = "likely"
        why = ", ".join(filter(None, [why, "taken as the request, not the use"]))
    if "walltime" in look.ideas and "request" not in look.ideas:
        certainty, why = "unsure", "walltime may be the limit or the run time"
    return ColumnMatch(column, look, guess.unit, certainty, why or "the name says so")


def _id_match(column: Column, look: ColumnTraits) -> ColumnMatch | None:
    if column.name == "parent_id":
        # what every job has for itself is its own id
        return None if look.unique else ColumnMatch(column, look, None, "sure", "the name says so")
    if look.unique:
        return ColumnMatch(column, look, None, "sure", "a value of its own in every row")
    if "id" in look.ideas and "name" not in look.ideas:
        return ColumnMatch(
            column, look, None, "unsure", "repeats: copies will be numbered #2, #3 ..."
        )
    return None


def _handicap(column: Column, look: ColumnTraits) -> float:
    """Prefer whole counts, stated units and filled columns among equal names."""
    worse = 0.0
    if column.unit == "GPUs" and look.unit == "milli":
        worse += 0.5
    if column.name in ("job_id", "node_id") and not look.unique:
        worse += 3.5
    if column.name == "cpu_cores" and any(word.startswith("util") for word in look.words):
        worse += 1.0
    if column.name == "queue":
        worse += 0.01 * min(
            (QUEUE_WORDS.index(w) for w in look.words if w in QUEUE_WORDS), default=9
        )
    if column.name in CLOCK_COLUMNS and look.form is None and look.unit is None:
        worse += 0.1
    if column.name == "duration_s" and "walltime" in look.ideas and _round(look):
        worse += 3.0
    return worse + 0.4 * (1 - len(look.present) / max(1, len(look.cells)))


def _round(look: ColumnTraits) -> bool:
    """Return whether the values are few and whole minutes, as limits are."""
    return look.distinct < 50 and (not look.numeric or bool(np.mean(look.numbers % 60 == 0) > 0.95))


def _against_the_clock(
    duration: ColumnMatch, chosen: Mapping[str, ColumnMatch]
) -> ColumnMatch | None:
    """Check a run time against start and end: find its unit, or that it has the waiting in it."""
    clocks = {name: _seconds(chosen[name]) for name in CLOCK_COLUMNS if name in chosen}
    values = duration.look.by_row
    if not {"start_s", "end_s"} <= set(clocks) or duration.look.form is not None:
        return duration
    run = clocks["end_s"] - clocks["start_s"]
    for unit in dict.fromkeys((duration.unit or "s", "s", "ms", "min", "h", "us")):
        seconds = values * factor_to("s", unit)
        if _agree(seconds, run) > 0.8:
            return replace(duration, unit=unit, certainty="sure", why="it is end - start")
        waits = "submit_s" in clocks and clocks["end_s"] - clocks["submit_s"]
        if waits is not False and _agree(seconds, waits) > 0.9:
            return None
    return duration


def _seconds(match: ColumnMatch) -> NDArray[np.float64]:
    linear = match.unit in SECONDS
    return match.look.by_row * (factor_to("s", match.unit or "s") if linear else 1.0)


def _agree(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return the share of rows with both values where they are within 2 s or 5 %."""
    both = np.isfinite(left) & np.isfinite(right)
    if not both.any():
        return 0.0
    gap = np.abs(left[both] - right[both])
    return float(np.mean(gap <= np.maximum(2.0, 0.05 * np.abs(right[both]))))
