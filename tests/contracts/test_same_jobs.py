"""Which jobs are the same job again does not depend on how they came, and crosses no tenant."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prophase as ph
from prophase.sizing.recommender import Recommender, learn_recommender
from prophase.study.submission.job_recommender import JobRecommender

PROGRAMS = {"bwa": 3.0, "gatk": 12.0, "fit": 25.0, "eval": 2.0, "prep": 1.0, "plot": 0.5}
USERS = ("ann", "bob", "cid")
COUNT = 540


def rows() -> list[dict[str, object]]:
    """Six programs of one account, by three users, in the words of sacct."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(COUNT):
        program, user = list(PROGRAMS)[number % 6], USERS[number // 6 % 3]
        start = pd.Timestamp("2024-01-01") + pd.Timedelta(hours=number)
        minutes = int(rng.integers(20, 40))
        end = start + pd.Timedelta(minutes=minutes)
        peak = PROGRAMS[program] * rng.uniform(0.9, 1.1) * (2.0 if user == "bob" else 1.0)
        found.append(
            {
                "JobID": str(1000 + number),
                "JobName": f"{program}_{number:04d}",
                "User": user,
                "Account": "lab",
                "Partition": "normal",
                "Submit": start.isoformat(),
                "Start": start.isoformat(),
                "End": end.isoformat(),
                "Elapsed": f"00:{minutes}:00",
                "State": "COMPLETED",
                "ReqMem": "64G",
                "ReqCPUS": "4",
                "NNodes": "1",
                "MaxRSS": f"{int(peak * 2**20)}K",
            }
        )
    return found


def dump(path: Path, *, account: bool) -> Path:
    named = [name for name in rows()[0] if account or name != "Account"]
    lines = ["|".join(str(row[name]) for name in named) for row in rows()]
    path.write_text("\n".join(["|".join(named), *lines]) + "\n", encoding="utf-8")
    return path


def sheet(path: Path) -> Path:
    """The same jobs as a CSV file with the columns of the job table."""
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(
            "job_id name user group queue submit_s start_s end_s status request_memory_gib "
            "request_cpu_cores memory_peak_gib".split()
        )
        for row in rows():
            times = [
                pd.Timestamp(str(row[name])).timestamp() for name in ("Submit", "Start", "End")
            ]
            peak = int(str(row["MaxRSS"])[:-1]) / 2**20
            table.writerow(
                [
                    *(row[name] for name in ("JobID", "JobName", "User", "Account", "Partition")),
                    *times, "completed", 64.0, 4.0, peak,
                ]
            )  # fmt: skip
    return path


def sizes(path: Path, source: str) -> dict[str, tuple[float, ...]]:
    found = ph.size(ph.read(path, source=source), risk=0.05).table
    return {
        row["task"].removeprefix("lab/"): tuple(round(row[one], 9) for one in ("advice", "2nd"))
        for row in found.to_dict("records")
    }


def test_a_dump_with_and_without_the_account_and_a_csv_give_the_same_recommendations(
    tmp_path: Path,
) -> None:
    held = sizes(dump(tmp_path / "with.sacct.psv", account=True), "sacct")
    bare = sizes(dump(tmp_path / "bare.sacct.psv", account=False), "sacct")
    told = sizes(sheet(tmp_path / "jobs.csv"), "csv")
    assert set(held) == {f"{user}/{program}_#" for user in USERS for program in PROGRAMS}
    assert held == bare == told


def test_one_program_of_two_users_is_sized_for_each(tmp_path: Path) -> None:
    found = sizes(dump(tmp_path / "with.sacct.psv", account=True), "sacct")
    assert found["bob/fit_#"][0] > 1.5 * found["ann/fit_#"][0]


@pytest.mark.parametrize("whose", ["group", "user", "namespace", "queue"])
def test_nothing_crosses_from_one_team_to_another_with_equal_names(
    whose: str, tmp_path: Path
) -> None:
    """2,500 pairs each: one team of a pair has a history, the other asks with the same name.

    Each team with a history meets five others whose names are nearly its own.
    """
    rng = np.random.default_rng(7)
    count, runs = 500, 12
    letters = np.array(list("abcdefgh-_/%1 "))
    names = ["".join(rng.choice(letters, rng.integers(1, 6))).strip() or "t" for _ in range(count)]
    teams = [f"{name}{n}" for n, name in enumerate(names)]
    rivals = [[f"{one}/", f"{one}x", f"x{one}", f"{one}{one}", one.upper() + "."] for one in teams]
    column = "attr_namespace" if whose == "namespace" else whose
    kinds = [f"train-{n % 50}x" for n in range(count)]
    at = np.arange(count * runs)
    jobs = pd.DataFrame(
        {
            "job_id": at.astype(str),
            column: np.repeat(teams, runs),
            "name": np.repeat(kinds, runs),
            "submit_s": 600.0 * at,
            "duration_s": 300.0,
            "request_memory_gib": 16.0,
            "memory_peak_gib": 2.0 + 0.1 * (at % 3),
        }
    )
    learn_recommender(jobs, resources=("memory",)).save(tmp_path / "requests.model")
    told = JobRecommender(requests=Recommender.load(tmp_path / "requests.model"))

    def changes(team: str, kind: str) -> bool:
        found = told.counsel({whose: team, "name": kind, "memory": 16}).of("memory")
        assert found is not None
        return bool(found.change)

    assert all(map(changes, teams, kinds))
    assert not [
        (rival, kind)
        for many, kind in zip(rivals, kinds, strict=True)
        for rival in many
        if changes(rival, kind)
    ]
