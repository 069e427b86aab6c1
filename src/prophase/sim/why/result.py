"""Why jobs wait, as a result: causes beside effects, classes, who holds up whom, what idles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prophase import units
from prophase.plain import finite
from prophase.plural import listed
from prophase.result import Block, Bullets, Fact, Result, Row, Section, Table, Text
from prophase.sim.measures.offered_load import load_measures
from prophase.sim.schedule_result import overload_table
from prophase.sim.why.causes import LABELS, WORDS
from prophase.sim.why.explanation import Why
from prophase.sim.why.idle_gpus import idle_nodes

#: classes in a terminal, and nodes whose jobs hold idle GPUs
_PRINTED, _IDLE_NODES = 20, 10


def why_result(why: Why, **values: Any) -> Result:
    """Return the answer; ``values`` stand before its numbers in JSON.

    What removing a cause saves comes first. Shares explain it: they add up to 100 %, savings do
    not, because a replay without one cause runs into the others.
    """
    schedule = why.split.schedule
    total = float(why.split.fine_s.sum())
    jobs = len(schedule.workload)
    overload = load_measures(schedule).get("overload")
    said = [overload["said"]] if overload else []
    policy = f"{schedule.order} order, {schedule.queue} queue, {schedule.place} placement"
    return Result(
        "why",
        title="Why do jobs wait?",
        question=policy,
        answer=" ".join([*said, _capital("; ".join(why.best_removal()))]),
        facts=[
            Fact("jobs", "jobs", jobs),
            Fact("wait_h", "waiting", total / 3600, "h"),
            Fact("mean_wait_s", "mean wait", total / jobs, "s"),
            Fact("gpus", "GPUs", schedule.cluster.gpus),
        ],
        sections=_sections(why),
        tables=[
            *([overload_table(overload)] if overload else ()),
            *(_tables(why) if total else _tables(why)[3:]),
        ],
        notes=[
            f"{jobs:,} jobs wait {units.duration(total)} on {len(schedule.cluster):,} nodes, "
            f"{schedule.cluster.gpus:,} GPUs ({schedule.order}, {schedule.queue}, "
            f"{schedule.place}); mean {units.duration(total / jobs)}.",
            *(_cause_notes(why) if total else ()),
            *(note if note.endswith(".") else note + "." for note in why.notes),
        ],
        records=why.removals() or why.side_by_side(),
        values=finite({**values, **({"overload": overload} if overload else {}), **why.to_dict()}),
    )


def _tables(why: Why) -> list[Table]:
    """Return what a terminal shows."""
    return [
        Table("removals", why.removals(), "What would help: waiting saved, in % of all waiting"),
        Table("causes", why.side_by_side(), "Why: shares of all waiting, beside the change"),
        Table("classes", _used(why.classes[:_PRINTED]), "By class, causes in % of its waiting"),
        Table(
            "held_up",
            _used(why.held_up if why.held_up_by else ()),
            "Lost while a job would have fitted",
        ),
        Table("held_up_by", _used(why.held_up_by), "Whose jobs were in the way"),
        Table("held_up_for", _used(why.held_up_for), "What the jobs in the way lacked themselves"),
        Table("idle", _used(why.idle), "Idle GPUs until the last submission"),
        Table("stranded", _used(why.stranded), "GPUs stranded beside too little CPU or memory"),
        Table("idle_nodes", _idle_nodes(why), "Nodes with the most GPUs that jobs held idle"),
    ]


def _idle_nodes(why: Why) -> list[Row]:
    """Return the nodes whose jobs hold most idle GPUs; none where nobody knows the use."""
    rows = idle_nodes(why.idle_map)
    if not any(row["allocated_idle_gpu_h"] for row in rows):
        return []
    hidden = ("unallocated_gpu_h", "unknown_use_gpu_h", "owned_gpu_h")
    return [{name: row[name] for name in row if name not in hidden} for row in rows[:_IDLE_NODES]]


def _used(rows: Sequence[Row]) -> list[Row]:
    """Leave out causes that play no part: columns of percent without a number above zero."""
    kept = [
        key
        for key in (rows[0] if rows else ())
        if not key.endswith("_pct") or any(row.get(key) for row in rows)
    ]
    return [{key: row[key] for key in kept if key in row} for row in rows]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] + "." * bool(text)


def _cause_notes(why: Why) -> list[str]:
    said = [_capital("; ".join(why.best_removal()))] if why.effects else []
    if why.effects:
        said.append(
            "takes: a setting costs nothing; ideal is what no cure of that cause can exceed. "
            "Savings do not add up: causes act together."
        )
    if worse := [one["change"] for one in why.removals() if (one["saves_pct"] or 0) < 0]:
        said.append(
            f"{_capital(listed(worse)).rstrip('.')}: saves nothing here. Others start sooner and "
            "are in the way of jobs that then wait longer."
        )
    said += [
        "Shares add up to 100 %; at_root_pct counts who is held up by the queue for what the job "
        "in the way lacks."
    ]
    more = len(why.classes) - _PRINTED
    if more > 0:
        said.append(f"{more:,} more classes: see --out or --format json.")
    return said


def _sections(why: Why) -> list[Section]:
    """Return what a page shows; plots adds the figures."""
    helps: list[Block] = [
        Table("removals", why.removals()),
        Text(
            "Each row is a replay of the same jobs with one thing changed. A setting of the "
            "scheduler costs nothing; an ideal world cannot be had, it is the most that any cure "
            "of the cause could save. Savings do not add up: causes act together."
        ),
    ]
    causes: list[Block] = [
        Table(
            "causes", why.side_by_side(), "Share of waiting, and the change without the cause"
        ),
        Text(
            "Shares add up to 100 %. Changes do not: a replay without one cause runs into the "
            "others, and jobs that start earlier leave room earlier."
        ),
        Bullets([f"{LABELS[name]}: {words}." for name, words in WORDS.items()]),
    ]  # fmt: skip
    held = [Table("held_up", why.held_up, "Lost while a job would have fitted")]
    if why.held_up_by:
        held += [
            Table("held_up_by", why.held_up_by, "Whose jobs were in the way"),
            Table(
                "held_up_for", why.held_up_for, "What the jobs in the way lacked themselves"
            ),
        ]  # fmt: skip
    classes = Table("classes", why.classes, "Causes in percent of the waiting")
    stranded: list[Block] = [
        Text(
            "GPU-hours free on nodes that have less free CPU or memory than the smallest GPU job "
            "(nobody could use them) or the typical one asks for."
        ),
        Table("stranded", why.stranded),
    ]
    idle = [Table("idle", why.idle, "Until the last submission")] if why.idle else []
    if held_idle := _idle_nodes(why):
        idle.append(Table("idle_nodes", held_idle, "Nodes with the most GPUs that jobs held idle"))
    return [
        Section("removals", "What would help", helps if why.effects else []),
        Section("causes", "Shares explain it", causes),
        Section("classes", "By class", [classes]),
        Section("held_up", "Held up by the queue", held),
        Section("idle", "Idle GPUs", idle),
        Section("stranded", "Stranded GPUs", stranded if why.stranded else []),
        Section("notes", "Notes", [Bullets(why.notes)] if why.notes else []),
    ]
