"""Raw exports as clusters write them, with known truth: what each program asks for and uses."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Program:
    """What one program of one account asks for and uses."""

    name: str
    account: str
    user: str
    asked_gb: int
    used_gb: float
    cores: int
    minutes: float


#: two accounts, six programs; all but `fold` and `plan` ask for far more memory than they use
PROGRAMS = (
    Program("train_bert", "nlp", "ann", 64, 11.0, 8, 40),
    Program("tokenise", "nlp", "ann", 32, 3.0, 4, 12),
    Program("eval_bleu", "nlp", "bob", 16, 2.2, 2, 6),
    Program("align", "bio", "eve", 48, 9.0, 8, 30),
    Program("fold", "bio", "eve", 24, 19.0, 16, 75),
    Program("plan", "bio", "joe", 4, 3.1, 1, 3),
)
WASTEFUL = ("train_bert", "tokenise", "eval_bleu", "align")
DAYS, RUNS_A_DAY = 21, 6
START = datetime(2026, 3, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Run:
    """One run of a program."""

    number: int
    program: Program
    submit: datetime
    start: datetime
    end: datetime
    peak_gb: float
    cpu_s: float


def runs() -> Iterator[Run]:
    """Return every run, in the order of submission."""
    dice = np.random.default_rng(5)
    at = sorted(
        (START + timedelta(days=day, seconds=float(dice.uniform(28_800, 72_000))), which)
        for day in range(DAYS)
        for which in range(len(PROGRAMS))
        for _ in range(RUNS_A_DAY)
    )
    for number, (submit, which) in enumerate(at, start=1001):
        one = PROGRAMS[which]
        start = submit + timedelta(seconds=float(dice.exponential(120)))
        seconds = 60 * one.minutes * float(dice.lognormal(sigma=0.25))
        yield Run(
            number,
            one,
            submit.replace(microsecond=0),
            start.replace(microsecond=0),
            (start + timedelta(seconds=seconds)).replace(microsecond=0),
            one.used_gb * float(dice.lognormal(sigma=0.03)),
            seconds * one.cores * 0.6,
        )


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def write_sacct(path: Path) -> Path:
    """Write what ``sacct -aDP`` prints: a row per job, and one per step."""
    names = (
        "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|ReqMem|ReqTRES|"
        "AllocTRES|NNodes|NCPUS|MaxRSS|TotalCPU|Timelimit"
    )
    lines = [names]
    for run in runs():
        one = run.program
        dates = [f"{t:%Y-%m-%dT%H:%M:%S}" for t in (run.submit, run.start, run.end)]
        elapsed = _clock((run.end - run.start).total_seconds())
        tres = f"billing={one.cores},cpu={one.cores},mem={one.asked_gb}G,node=1"
        tail = f"1|{one.cores}"
        lines.append(
            f"{run.number}|{one.name}|{one.user}|{one.account}|batch|COMPLETED|{'|'.join(dates)}|"
            f"{elapsed}|{one.asked_gb}G|{tres}|{tres}|{tail}||{_clock(run.cpu_s)}|08:00:00"
        )
        for step, rss in (("batch", run.peak_gb * 2**20), ("extern", 800.0)):
            lines.append(
                f"{run.number}.{step}|{step}||{one.account}||COMPLETED|{'|'.join(dates)}|"
                f"{elapsed}|||cpu={one.cores},mem={one.asked_gb}G,node=1|{tail}|{rss:.0f}K|"
                f"{_clock(run.cpu_s if step == 'batch' else 0)}|"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_odd_csv(path: Path) -> Path:
    """Write a table as a site of its own might: semicolons, German dates, minutes and MB."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(
            ["Job Nr", "Team", "Owner", "Script", "Submitted At", "Runtime (min)", "Cores",
             "Mem Requested (MB)", "Max Mem Used (MB)"]
        )  # fmt: skip
        for run in runs():
            one = run.program
            minutes = (run.end - run.start).total_seconds() / 60
            rows.writerow(
                [run.number, one.account, one.user, f"{one.name}.sh",
                 f"{run.submit:%Y-%m-%d %H:%M:%S}", f"{minutes:.2f}", one.cores,
                 one.asked_gb * 1024, f"{run.peak_gb * 1024:.0f}"]
            )  # fmt: skip
    return path


def write_nextflow(path: Path) -> Path:
    """Write what ``nextflow run -with-trace`` writes, with requests configured."""
    lines = ["\t".join(
        "task_id hash native_id name status exit submit start complete realtime cpus memory %cpu "
        "peak_rss rchar wchar".split()
    )]  # fmt: skip
    for run in runs():
        one = run.program
        at = [f"{t:%Y-%m-%d %H:%M:%S}.000" for t in (run.submit, run.start, run.end)]
        seconds = int((run.end - run.start).total_seconds())
        lines.append("\t".join([
            str(run.number - 1000), f"{run.number % 97:02x}/{run.number:06x}", str(run.number),
            f"{one.name.upper()} (s{run.number})", "COMPLETED", "0", *at,
            f"{seconds // 60}m {seconds % 60}s", str(one.cores), f"{one.asked_gb} GB",
            f"{60.0 * one.cores:.1f}%", f"{run.peak_gb:.1f} GB", "1.2 GB", "340 MB",
        ]))  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
