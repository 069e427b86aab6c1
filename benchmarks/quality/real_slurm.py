"""Do replays and start forecasts do what a real slurmctld does?

    python benchmarks/quality/real_slurm.py run FOLDER [--site plain] [--runs 2]
    python benchmarks/quality/real_slurm.py score FOLDER

``run`` starts a real Slurm (``tools/slurm_referee.py``; root on Debian), submits the same 320 jobs
of seconds to minutes to it as often as asked, and keeps what accounting says, the configuration,
and the queue every half minute. ``score`` replays each run by its configuration alone (``prophase
validate --slurm``) and compares; two runs of the real Slurm beside each other are the ceiling.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from record import ROOT, Measurement, record

#: what accounting is asked for; -D tells of every attempt of a requeued job
COLUMNS = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,QOS,Submit,Eligible,Start,End,State,ExitCode,"
    "Timelimit,ReqNodes,ReqCPUS,ReqMem,ReqTRES,AllocTRES,NNodes,NCPUS,Reservation,Constraints,"
    "NodeList,SubmitLine,Priority"
)
JOBS = 320
SNAPSHOT_S = 30.0


@dataclass(frozen=True)
class Trial:
    """A configuration, and the jobs that are submitted to it."""

    conf: tuple[str, ...]
    partitions: tuple[str, ...]
    accounts: Mapping[str, tuple[str, ...]]
    accounting: tuple[str, ...] = ()
    gpus: int = 0
    #: seconds over which the jobs come
    span_s: float = 600.0
    options: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


_SCHEDULER = "SchedulerParameters=bf_interval=10,bf_resolution=5,sched_interval=10"
TRIALS = {
    "plain": Trial(
        (_SCHEDULER,),
        ("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",),
        {"nlp": ("ann", "eve"), "bio": ("bob", "joe")},
    ),
    "preempt": Trial(
        (
            _SCHEDULER,
            "PriorityType=priority/multifactor",
            "PriorityWeightQOS=10000",
            "PriorityWeightAge=100",
            "PriorityMaxAge=0-1",
            "PreemptType=preempt/qos",
            "PreemptMode=REQUEUE",
            "PreemptExemptTime=0:00:05",
            "AccountingStorageEnforce=limits,qos",
        ),
        (
            "PartitionName=short Nodes=n[1-16] Default=YES MaxTime=4 PriorityTier=2 State=UP",
            "PartitionName=long Nodes=n[1-12] MaxTime=02:00:00 PriorityTier=1 State=UP",
        ),
        {"nlp": ("ann", "eve"), "bio": ("bob", "joe")},
        (
            "add qos scavenger priority=0 preemptmode=requeue",
            "add qos urgent priority=100 preempt=scavenger",
            "modify qos normal set priority=50 maxtresperuser=cpu=72",
            "modify account nlp set qos=normal,scavenger,urgent",
            "modify account bio set qos=normal,scavenger,urgent",
        ),
    ),
    "fair": Trial(
        (
            _SCHEDULER,
            "PriorityType=priority/multifactor",
            "PriorityWeightFairshare=100000",
            "PriorityWeightAge=1000",
            "PriorityMaxAge=0-1",
            "PriorityWeightJobSize=1000",
            "PriorityDecayHalfLife=00:10:00",
            "PriorityCalcPeriod=00:01:00",
        ),
        (
            "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP "
            "TRESBillingWeights=CPU=1.0,GRES/gpu=8.0",
        ),
        {"nlp": ("ann", "eve"), "bio": ("bob", "joe"), "phy": ("kim",)},
        (
            "modify account nlp set fairshare=50",
            "modify account bio set fairshare=30",
            "modify account phy set fairshare=20",
        ),
        gpus=4,
    ),
}


def planned_jobs(name: str, trial: Trial, seed: int = 7) -> list[dict[str, object]]:
    """Return the jobs of a trial: when they come, how long they sleep, and sbatch's options."""
    rng = np.random.default_rng(seed)
    users = [user for held in trial.accounts.values() for user in held]
    weights = np.array([2.0, 1.0, 1.0, 1.0, 1.0][: len(users)])
    at = np.sort(rng.uniform(0, trial.span_s, JOBS))
    jobs: list[dict[str, object]] = []
    for place in range(JOBS):
        sleep = float(np.clip(rng.lognormal(np.log(28), 0.9), 3, 220))
        limit = int(np.ceil(sleep * rng.choice([1.15, 1.5, 2.5, 4.0]) / 60 + 0.05))
        nodes = int(rng.choice([1, 1, 1, 1, 1, 2, 2, 4]))
        cpus = int(rng.choice([1, 2, 4, 8] if nodes == 1 else [4, 8]))
        options = [f"-N{nodes}", f"--ntasks-per-node={cpus}", f"-t{limit}", "--mem=500M"]
        if name == "preempt":
            long = limit > 4 or rng.random() < 0.3
            options.append("-plong" if long else "-pshort")
            qos = rng.choice(["normal", "scavenger", "urgent"], p=[0.55, 0.3, 0.15])
            options.append(f"--qos={qos}")
        if trial.gpus and rng.random() < 0.6:
            options.append(f"--gres=gpu:{rng.choice([1, 1, 2, 4])}")
        jobs.append(
            {
                "name": f"j{place:03d}",
                "at": float(at[place]),
                "sleep": round(sleep, 1),
                "user": str(rng.choice(users, p=weights / weights.sum())),
                "options": options,
            }
        )
    return jobs


def run_trial(name: str, folder: Path) -> None:
    """Run one trial on a real Slurm and keep what it says."""
    from tools.slurm_referee import SlurmReferee, SlurmSite

    trial = TRIALS[name]
    folder.mkdir(parents=True, exist_ok=True)
    jobs = planned_jobs(name, trial)
    (folder / "planned.json").write_text(json.dumps(jobs))
    site = SlurmSite(
        nodes=16,
        gpus=trial.gpus,
        conf=trial.conf,
        partitions=trial.partitions,
        accounts=trial.accounts,
        accounting=trial.accounting,
    )
    with SlurmReferee(site) as slurm:
        keep_configuration(slurm, folder)
        watcher = threading.Thread(target=_watch, args=(slurm, folder), daemon=True)
        begin = time.monotonic()
        watcher.start()
        for job in jobs:
            time.sleep(max(0.0, begin + float(str(job["at"])) - time.monotonic()))
            options = [str(one) for one in job["options"]]  # type: ignore[attr-defined]
            slurm.sbatch(
                "-J", str(job["name"]), *options, "-o", "/dev/null",
                wrap=f"sleep {job['sleep']}", user=str(job["user"]),
            )  # fmt: skip
        slurm.wait(seconds=3600)
        time.sleep(3)
        keep_history(slurm, folder)
        for part in ("slurmctld.log",):
            text = (slurm.log / part).read_text(errors="replace")
            (folder / part).write_text(text)


def keep_configuration(slurm: object, folder: Path) -> None:
    """Keep slurm.conf, and what the database says of associations and qualities of service."""
    run = slurm.run  # type: ignore[attr-defined]
    (folder / "slurm.conf").write_text(
        (slurm.folder / "etc" / "slurm.conf").read_text()  # type: ignore[attr-defined]
    )
    (folder / "qos.txt").write_text(run("sacctmgr", "-P", "show", "qos").stdout)
    (folder / "assoc.txt").write_text(run("sacctmgr", "-P", "show", "assoc").stdout)


def keep_history(slurm: object, folder: Path) -> None:
    """Keep what accounting says of all jobs."""
    run = slurm.run  # type: ignore[attr-defined]
    said = run("sacct", "-a", "-P", "-X", "-D", "-S", "now-1day", "-o", COLUMNS).stdout
    (folder / "sacct.psv").write_text(one_row_per_job(said))


def one_row_per_job(text: str) -> str:
    """Return a dump in which a requeued job has one row: its first start, its last run time.

    Accounting begins a requeued job anew; what is compared is the wait until the first start.
    """
    table = pd.read_csv(io.StringIO(text), sep="|", dtype=str, keep_default_na=False)
    rows = []
    for _, held in table.groupby("JobIDRaw", sort=False):
        times = held[["Start", "End"]].apply(pd.to_datetime)
        last = held.iloc[-1].copy()
        ran = times["End"].iloc[-1] - times["Start"].iloc[-1]
        for name in ("Submit", "Eligible", "Start"):
            last[name] = held[name].iloc[0]
        last["End"] = (times["Start"].iloc[0] + ran).strftime("%Y-%m-%dT%H:%M:%S")
        rows.append(last)
    return pd.DataFrame(rows).to_csv(sep="|", index=False)


_LOOKS = {
    "jobs.txt": ("scontrol", "show", "job", "-o"),
    "nodes.txt": ("scontrol", "show", "node", "-o"),
    "partitions.txt": ("scontrol", "show", "partition", "-o"),
    "reservations.txt": ("scontrol", "show", "reservation", "-o"),
    "sprio.txt": ("sprio", "-h", "-o", "%i|%Y"),
    "sshare.txt": ("sshare", "-a", "-P"),
    "start.txt": ("squeue", "--start", "-h", "-o", "%i|%S"),
}


def _watch(slurm: object, folder: Path) -> None:
    """Keep the queue every half minute."""
    run = slurm.run  # type: ignore[attr-defined]
    while True:
        time.sleep(SNAPSHOT_S)
        now = int(time.time())
        look = folder / "looks" / str(now)
        look.mkdir(parents=True)
        try:
            for file, command in _LOOKS.items():
                (look / file).write_text(run(*command, check=False).stdout)
        except (OSError, subprocess.SubprocessError):
            return


def score_waits(name: str, folders: list[Path]) -> None:
    """Replay each run by its configuration, and compare with the real waits."""
    from prophase.sim import Cluster, Workload
    from prophase.sim.slurm_conf import find_conf, slurm_settings
    from prophase.sim.validation.scheduler_clocks import replay_clocks
    from prophase.sim.validation.wait_validation import validate, without_outcomes
    from prophase.trace.trace_tables import open_trace

    waits, means, ranks, seen = [], [], [], []
    for folder in folders:
        trace = open_trace(folder, source="sacct")
        workload = Workload.from_jobs(without_outcomes(trace.jobs))
        cluster = Cluster.from_nodes(trace.nodes)
        rules = slurm_settings(find_conf(folder), folder)
        first, *others = replay_clocks(workload, cluster, rules, 10)
        found = validate(trace.jobs, first, others=others, theory=False).scores["all jobs"]
        assert found.rank_correlation is not None
        means.append(found.simulated_mean_s / found.observed_mean_s - 1.0)
        ranks.append(found.rank_correlation.value)
        seen.append(found.observed_mean_s)
        waits.append(trace.jobs.set_index("name")["wait_s"].astype(float))
    ceiling = waits[0].rank().corr(waits[1].reindex(waits[0].index).rank())
    apart = seen[1] / seen[0] - 1.0
    data, remark = f"{JOBS} jobs on a real slurmctld", "two real runs beside each other"
    record(Measurement(f"{name}: mean wait, replay against real - 1", "share", means,
                       remark, [apart], data=data))  # fmt: skip
    record(Measurement(f"{name}: rank correlation of waits", "", ranks, remark,
                       [float(ceiling)], data=data))  # fmt: skip


def score_starts(name: str, folders: list[Path]) -> None:
    """Forecast the starts of all jobs that waited when the queue was looked at."""
    from prophase.sim.forecast.past_forecasts import settled
    from prophase.sim.forecast.start_forecast import IntervalWidening

    rows = pd.concat([_forecasts(folder) for folder in folders], ignore_index=True)
    inside = []
    for _, run in rows.groupby("run"):
        for now_s, look in run.groupby("now_s"):
            # what was known then: forecasts of earlier looks whose jobs had started
            past = run[run["now_s"] < now_s]
            began = past["now_s"] + past["truth"] <= now_s
            share = began.groupby(past["now_s"]).transform("mean")
            past, share = past[began], share[began]
            if len(past) < 20:
                continue
            past = past[settled(share.to_numpy())]
            moves = IntervalWidening.learn(
                past["low"].to_numpy(), past["high"].to_numpy(), past["truth"].to_numpy()
            )
            for one in look.itertuples():
                low, high = moves.apply(one.low, one.high)
                inside.append(min(low, one.middle) <= one.truth <= max(high, one.middle))
    known = rows[rows["slurm"].notna()]
    data = f"{len(rows):,} forecasts, {len(folders)} runs of {JOBS} jobs on a real slurmctld"
    raw = ((rows["truth"] >= rows["low"] - 1) & (rows["truth"] <= rows["high"] + 1)).mean()
    record(Measurement(f"{name}: starts inside fitted 80 % intervals", "share",
                       [float(np.mean(inside))], "as drawn", [float(raw)], data=data))  # fmt: skip
    for what, part, column in (
        ("recent waits of jobs alike", rows, "alike"),
        ("squeue --start", known, "slurm"),
    ):
        record(
            Measurement(
                f"{name}: median error of the start, {len(part):,} jobs",
                "s",
                [float((part["middle"] - part["truth"]).abs().median())],
                what,
                [float((part[column] - part["truth"]).abs().median())],
                data=data,
            )
        )


def _forecasts(folder: Path) -> pd.DataFrame:
    from prophase.sim.slurm.snapshot import COMMANDS, QueueSnapshot
    from prophase.sim.slurm.twin import QueueTwin
    from prophase.sim.slurm.twin_check import wait_of_alike
    from prophase.sim.slurm_conf import find_conf
    from prophase.trace.trace_tables import open_trace

    conf = find_conf(folder)
    history = open_trace(folder, source="sacct").jobs.drop(columns="name")
    start = history.set_index("job_id")["start_s"]
    rows = []
    for look in sorted((folder / "looks").iterdir())[::2]:
        files = {file: look / file for file in COMMANDS if (look / file).is_file()}
        texts = {file: path.read_text() for file, path in files.items()} | {"now.txt": look.name}
        now_s = float(look.name)
        done = history[history["end_s"] <= now_s]
        if len(done) < 50 or "PENDING" not in texts.get("jobs.txt", ""):
            continue
        shot = QueueSnapshot.of(texts, conf, folder)
        # a requeued job begins anew in accounting: its next start is not told there
        waiting = shot.waiting[~shot.waiting["attr_reason"].isin(["BeginTime"])]
        told = QueueTwin(shot, done, draws=30).etas([str(one) for one in waiting["job_id"]])
        for _, job in waiting.iterrows():
            found = told[str(job["job_id"])]
            truth = float(start[job["job_id"]]) - now_s
            if not found.known or truth < 0:
                continue
            rows.append(
                {
                    "run": folder.name,
                    "now_s": now_s,
                    "truth": truth,
                    "low": found.p10_s,
                    "middle": found.p50_s,
                    "high": found.p90_s,
                    "slurm": job["slurm_start_s"] - now_s,
                    "alike": wait_of_alike(history, now_s, job),
                }
            )
    return pd.DataFrame(rows)


_RUN = """import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])
from benchmarks.quality.real_slurm import run_trial
run_trial(sys.argv[2], Path(sys.argv[3]))"""


def main() -> int:
    """Run trials, or score them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--site", action="append", choices=list(TRIALS))
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    for name in asked.site or list(TRIALS):
        if asked.what == "run":
            runs = []
            for number in range(asked.runs):
                runs.append(
                    subprocess.Popen(
                        [sys.executable, "-c", _RUN, str(ROOT), name,
                         str(asked.folder / f"{name}-{number}")]
                    )
                )  # fmt: skip
                # two databases that are made at once write into the same temporary files
                time.sleep(20)
            if any(one.wait() for one in runs):
                return 1
            continue
        folders = [asked.folder / f"{name}-{number}" for number in range(asked.runs)]
        score_waits(name, folders)
        score_starts(name, folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
