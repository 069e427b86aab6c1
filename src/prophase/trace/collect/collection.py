"""Keep what a collector gathers in a workspace: nothing lost, nothing twice.

Every round asks again for a while before the last record that was kept, and a record is known by
its job and its time of submission, which accounting databases hold to be unique. A round that
fails or is interrupted therefore changes nothing, and the next one takes it all.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import ibis
import pandas as pd

from prophase.atomic_files import write_whole
from prophase.errors import ParameterError, WorkspaceError, storage_errors
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.trace.collect.collector import Collector, GatheredJobs
from prophase.trace.dump import stack
from prophase.trace.engine import Engine, open_engine
from prophase.trace.identity.job_identity import file_rule, identified
from prophase.trace.identity.rule import KIND, TENANT
from prophase.trace.reader import reader_named
from prophase.trace.source_files import combined_hash
from prophase.trace.staged_tables import Progress, Staged, in_order, silent, stage
from prophase.trace.workspace import Workspace

#: where a workspace keeps how far each system was read
STATE = Path("collect")
#: jobs that still run, or wait, come when they have ended
_UNFINISHED = ("running", "pending")
#: how the file ends that holds what waits and runs
_QUEUE = ".queue.parquet"
FIRST_SPAN_S, OVERLAP_S = 30 * 86_400.0, 3_600.0


@dataclass(frozen=True)
class Collection:
    """What one round brought."""

    system: str
    #: jobs that the workspace did not have, those it had otherwise, those it had just so
    new: int = 0
    changed: int = 0
    known: int = 0
    #: jobs that have not ended: they come later
    unfinished: int = 0
    jobs: int = 0
    since_s: float = 0.0
    #: latest end of a job that is kept; None without one
    until_s: float | None = None
    #: of the new jobs, how many say how much memory they used
    with_memory: int = 0
    tables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return {
            "system": self.system, "new": self.new, "changed": self.changed, "known": self.known,
            "unfinished": self.unfinished, "jobs": self.jobs, "since_s": self.since_s,
            "until_s": self.until_s, "with_memory": self.with_memory,
            "tables": list(self.tables), "notes": list(self.notes),
        }  # fmt: skip


def collect(
    collector: Collector,
    workspace: Workspace,
    *,
    first_span_s: float = FIRST_SPAN_S,
    overlap_s: float = OVERLAP_S,
    now_s: float | None = None,
    command: str = "",
    progress: Progress = silent,
) -> Collection:
    """Take what ended since the last time into the workspace.

    Parameters
    ----------
    first_span_s : float
        How far to go back the first time.
    overlap_s : float
        How far every later round goes back behind the last record: records may come late, and
        clocks may be set back.
    """
    if overlap_s < 0 or first_span_s <= 0:
        raise ParameterError("collect: spans of time are positive. Pass for example 30d.")
    now = time.time() if now_s is None else now_s
    state = workspace.folder / STATE / f"{collector.name}.json"
    with workspace.writing() as cache:
        _refuse_other_clock(workspace, collector)
        before = _until(state) if workspace.tables.get("jobs") else None
        # a clock that was set back must not hide what ends before it has caught up
        since = now - first_span_s if before is None else min(before, now) - overlap_s
        scratch = cache / f"collect-{collector.name}"
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            with storage_errors(scratch):
                (scratch / "dump").mkdir(parents=True)
            progress(f"asking {collector.name}", None)
            gathered = collector.gather(scratch / "dump", since_s=since)
            kept = _kept(workspace, collector, gathered, scratch, command, progress)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        until = max((one for one in (kept.until_s, before) if one is not None), default=None)
        if until is not None:
            write_whole(state, json.dumps({"until_s": until}) + "\n")
    return replace(kept, since_s=since, until_s=until)


def _until(state: Path) -> float | None:
    """Return how far the system was read; a damaged note reads everything again."""
    try:
        return float(json.loads(state.read_text("utf-8"))["until_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _refuse_other_clock(workspace: Workspace, collector: Collector) -> None:
    held = workspace.tables.get("jobs")
    if held is not None and held.clock != collector.clock:
        raise WorkspaceError(
            f"{workspace.folder}: its jobs were imported from {held.source} with the clock "
            f"{held.clock!r}, and what is collected has {collector.clock!r}: the same job would "
            "count twice. Collect into a workspace of its own: prophase collect "
            f"{collector.name} --since 90d --workspace NEW"
        )


def _kept(
    workspace: Workspace,
    collector: Collector,
    gathered: GatheredJobs,
    scratch: Path,
    command: str,
    progress: Progress,
) -> Collection:
    """Put what was gathered into the workspace, in one step."""
    found = Collection(collector.name, notes=gathered.notes)
    parts: dict[str, Path] = {}
    staged = None
    if gathered.reader is not None:
        staged = stage(
            reader_named(gathered.reader),
            scratch / "dump",
            scratch,
            options=gathered.options,
            max_bad=0.0,
            progress=progress,
        )
        parts = {name: part for name, part in staged.parts.items() if name != "jobs"}
    with storage_errors(scratch):
        for name, frame in gathered.tables.items():
            parts[name] = scratch / f"{name}.now.parquet"
            frame.to_parquet(parts[name], compression="zstd", index=False)
    if staged is not None and "jobs" in staged.parts:
        progress("keeping new jobs", None)
        found, merged = _merged(workspace, staged.parts["jobs"], scratch, found)
        if merged is not None:
            parts["jobs"] = merged
        if found.new:
            found = replace(found, notes=(*found.notes, *staged.report.notes))
    held = workspace.tables
    if parts:
        workspace.store(
            parts,
            source=gathered.reader or collector.name,
            source_hash=_chained(held["jobs"].source_hash if "jobs" in held else "", staged),
            command=command,
            clock=collector.clock,
            report={**found.to_dict(), **_report(staged)},
        )
    if staged is not None and "jobs" in staged.parts:
        _keep_queue(staged.parts["jobs"], workspace.folder / STATE / f"{collector.name}{_QUEUE}")
    return replace(found, tables=tuple(workspace.tables))


def _keep_queue(part: Path, target: Path) -> None:
    """Keep the jobs that wait or run at this moment, in place of those of the last round."""
    jobs = pd.read_parquet(part)
    queue = jobs[jobs["status"].isin(_UNFINISHED)]
    with storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        written = target.with_suffix(".new")
        queue.to_parquet(written, compression="zstd", index=False)
        written.replace(target)


def live_queues(folder: Path) -> dict[str, tuple[float, pd.DataFrame]]:
    """Return system -> when it was last asked, and the jobs that waited or ran then."""
    found = {}
    for path in sorted((folder / STATE).glob(f"*{_QUEUE}")):
        try:
            found[path.name.removesuffix(_QUEUE)] = path.stat().st_mtime, pd.read_parquet(path)
        except (OSError, ValueError):
            continue
    return found


def _chained(before: str, staged: Staged | None) -> str:
    return combined_hash([before, staged.report.source_hash if staged is not None else ""])


def _report(staged: Staged | None) -> Mapping[str, object]:
    return {} if staged is None else {"import": staged.report.to_dict()}


def _merged(
    workspace: Workspace, part: Path, scratch: Path, found: Collection
) -> tuple[Collection, Path | None]:
    """Return what the new rows are beside the kept ones, and a file with both if they differ."""
    engine = open_engine("duckdb", scratch)
    try:
        rows = _unnamed(engine.open_parquet(part))
        rule = file_rule(part)
        ended = rows.filter(~rows.status.isin(_UNFINISHED))
        count = int(_number(engine, rows.count())), int(_number(engine, ended.count()))
        found = replace(found, unfinished=count[0] - count[1])
        if "jobs" not in workspace.tables:
            both, before, changed = _attempts(ended.mutate(_new=1)), 0, 0
        else:
            old = _unnamed(engine.open_parquet(workspace.path_of("jobs")))
            # the workspace goes on grouping jobs as it does
            rule = file_rule(workspace.path_of("jobs")) or rule
            both = _attempts(stack([old.mutate(_new=0), ended.mutate(_new=1)]))
            before, changed = int(_number(engine, old.count())), _changed(engine, old, ended)
        both = _numbered(both)
        jobs = int(_number(engine, both.count()))
        latest = (_number(engine, ended.end_s.max()) or None) if "end_s" in ended.columns else None
        memory = 0
        if "memory_peak_gib" in ended.columns:
            memory = int(_number(engine, ended.memory_peak_gib.count()))
        new = jobs - before
        found = replace(
            found,
            new=new,
            changed=changed,
            known=count[1] - new - changed,
            jobs=jobs,
            until_s=latest,
            with_memory=memory,
        )
        if not new and not changed:
            return found, None
        target = scratch / "jobs.merged.parquet"
        engine.write_parquet(in_order("jobs", both), target, lambda _: None)
        return found, identified(target, rule)[0]
    finally:
        engine.close()


def _unnamed(table: ibis.Table) -> ibis.Table:
    """Return the jobs without their identity, which is made for all of them together."""
    return table.drop(*(name for name in (TENANT, KIND) if name in table.columns))


def _base(table: ibis.Table) -> ibis.Value:
    return table.job_id.re_replace(r"#[0-9]+$", "")


def _attempts(both: ibis.Table) -> ibis.Table:
    """Keep one row per job and submission: the newer word on it."""
    rank = ibis.row_number().over(
        group_by=[_base(both), both.submit_s], order_by=ibis.desc(both._new)
    )
    ranked = both.mutate(_rank=rank)
    return ranked.filter(ranked._rank == 0).drop("_rank", "_new")


def _numbered(table: ibis.Table) -> ibis.Table:
    """Number the attempts of a job in the order of their submission: 17, 17#2, 17#3."""
    place = ibis.row_number().over(group_by=_base(table), order_by=table.submit_s)
    suffix = (place == 0).ifelse("", ibis.literal("#") + (place + 1).cast("string"))
    return table.mutate(job_id=_base(table) + suffix)


def _changed(engine: Engine, old: ibis.Table, new: ibis.Table) -> int:
    """Count jobs that are kept, but of which another word has come."""
    told = ("status", "end_s", "memory_peak_gib", "request_memory_gib", "time_limit_s")
    names = [name for name in told if name in old.columns and name in new.columns]
    left = old.select(_id=_base(old), submit_s=old.submit_s, **{f"_{n}": old[n] for n in names})
    right = new.select(_id=_base(new), submit_s=new.submit_s, **{n: new[n] for n in names})
    both = left.inner_join(right, ["_id", "submit_s"])
    if not names:
        return 0
    differs = ~both[f"_{names[0]}"].identical_to(both[names[0]])
    for name in names[1:]:
        differs = differs | ~both[f"_{name}"].identical_to(both[name])
    return int(_number(engine, both.filter(differs).count()))


def _number(engine: Engine, value: ibis.Value) -> float:
    held = pd.to_numeric(engine.to_pandas(value.as_table()).iloc[:, 0], errors="coerce")
    return float(held.fillna(0.0).iloc[0])


def words(found: Collection) -> str:
    """Return what a round brought, as a sentence."""
    said = f"{counted(found.new, 'new job')} of {found.system}, {found.jobs:,} in all"
    later = f"; {found.unfinished:,} have not ended" if found.unfinished else ""
    changed = f", {found.changed:,} with a later word" if found.changed else ""
    until = ""
    if found.until_s is not None:
        until = f"; up to {datetime.fromtimestamp(found.until_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{said}{changed}{later}{until}."
