from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.trace.identity.choice import choose_rule

SIZES = {"bwa": 4.0, "gatk": 16.0, "fit": 30.0, "eval": 2.0, "prep": 1.0, "plot": 0.5}


def slurm_jobs(count: int = 600, *, equal: bool = False) -> pd.DataFrame:
    """Six programs of one account, each by one of two users."""
    rng = np.random.default_rng(0)
    program = np.array(list(SIZES))[np.arange(count) % 6]
    peak = np.array([1.0 if equal else SIZES[name] for name in program])
    at = np.arange(count)
    return pd.DataFrame(
        {
            "job_id": at.astype(str),
            "name": [f"{name}_{number}" for name, number in zip(program, at, strict=True)],
            "user": np.where(at % 2, "ann", "bob"),
            "group": "lab",
            "queue": "normal",
            "submit_s": 600.0 * at,
            "duration_s": 300.0 * rng.lognormal(0, 0.1, count),
            "memory_peak_gib": peak * rng.lognormal(0, 0.05, count),
            "request_memory_gib": 64.0,
            "status": "completed",
        }
    )


def kinds_of(jobs: pd.DataFrame) -> set[tuple[str, str]]:
    return set(choose_rule(jobs).apply(jobs).itertuples(index=False, name=None))


def test_six_programs_of_one_account_are_six_kinds() -> None:
    assert {kind for _, kind in kinds_of(slurm_jobs())} == {f"{name}_#" for name in SIZES}
    assert len(kinds_of(slurm_jobs())) == 6


def test_six_programs_are_six_kinds_even_if_they_need_the_same() -> None:
    assert len(kinds_of(slurm_jobs(equal=True))) == 6
    assert len(kinds_of(slurm_jobs(12))) == 6


def test_histories_are_the_same_with_and_without_the_account() -> None:
    jobs = slurm_jobs()
    held, bare = choose_rule(jobs), choose_rule(jobs.drop(columns="group"))
    one, other = held.apply(jobs), bare.apply(jobs)
    assert (one["kind"] == other["kind"]).all()
    pairs = set(zip(one["tenant"], other["tenant"], strict=True))
    assert pairs == {("lab/ann", "ann"), ("lab/bob", "bob")}


def test_users_of_one_account_are_not_pooled_even_if_they_run_the_same() -> None:
    jobs = slurm_jobs(equal=True).assign(name="fit")
    assert len(kinds_of(jobs)) == 2


def test_a_column_that_tells_sizes_apart_is_added() -> None:
    places = np.arange(600) // 2 % 3
    big = np.arange(600) // 6 % 2
    jobs = slurm_jobs(equal=True).assign(name=np.where(big, "bash", "zsh"))
    jobs["attr_workdir"] = np.array(["/a", "/b", "/c"])[places]
    jobs["memory_peak_gib"] *= np.array([1.0, 8.0, 64.0])[places] * (1 + big)
    rule = choose_rule(jobs)
    assert rule.kinds == (("attr_workdir", "name"), ("attr_workdir",))


def test_a_name_that_never_comes_back_gives_way() -> None:
    rng = np.random.default_rng(1)
    jobs = slurm_jobs().assign(queue=np.where(np.arange(600) // 2 % 2, "big", "small"))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    jobs["name"] = ["".join(rng.choice(letters, 12)) for _ in range(600)]
    jobs["memory_peak_gib"] = np.where(jobs["queue"] == "big", 64.0, 1.0)
    assert "name" not in choose_rule(jobs).kinds[0]


def test_tasks_with_running_numbers_are_folded_and_stages_are_not() -> None:
    at = np.arange(40)
    numbered = pd.DataFrame({"task": [f"train_{n:04d}_lr{n}e-4" for n in at]})
    assert choose_rule(numbered).apply(numbered)["kind"].unique().tolist() == ["train_#_lr#"]
    stages = pd.DataFrame({"task": [f"stage{n % 4}" for n in at]})
    assert choose_rule(stages).apply(stages)["kind"].nunique() == 4


def test_the_process_of_a_workflow_stays_the_kind() -> None:
    at = np.arange(600)
    jobs = slurm_jobs(equal=True).drop(columns=["name", "user", "group"])
    jobs["task"], jobs["attr_container"] = [f"p{n // 20}" for n in at], np.where(at % 2, "a", "b")
    jobs["memory_peak_gib"] = np.where(at % 2, 1.0, 64.0)
    assert choose_rule(jobs, "nextflow").kinds == (("task",),)
    assert "task" in choose_rule(jobs).kinds[0]


def test_a_namespace_is_the_tenant_whoever_submits() -> None:
    jobs = pd.DataFrame(
        {"attr_namespace": ["a", "b"] * 20, "user": ["svc"] * 40, "name": ["train"] * 40}
    )
    assert len(kinds_of(jobs)) == 2


def test_the_group_of_pai_is_what_recurs() -> None:
    jobs = pd.DataFrame({"source": "pai2020", "group": ["g1", "g2"] * 20, "task": "worker"})
    rule = choose_rule(jobs.assign(user="u"))
    assert (rule.tenant, rule.kinds[0]) == (("user",), ("group", "task"))
    assert str(rule) == "user + job group + task"


def test_a_table_that_names_its_kinds_is_believed() -> None:
    jobs = pd.DataFrame({"tenant": ["a"], "kind": ["k_1"], "user": ["u"], "name": ["n"]})
    assert choose_rule(jobs).key({"tenant": "a", "kind": "k_1"}) == ("a", "k_1")


def test_a_large_table_is_sampled_and_gives_the_same_rule_again() -> None:
    jobs = pd.concat([slurm_jobs().assign(user=f"u{n}") for n in range(200)], ignore_index=True)
    assert choose_rule(jobs) == choose_rule(jobs)
    assert choose_rule(jobs).kinds == (("name",),)
