from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prophase.errors import ParameterError
from prophase.serve.submit.policy import LABEL, SubmitPolicy


def test_the_exact_name_of_a_namespace_wins_over_patterns() -> None:
    places = {"ml-*": {"mode": "annotate"}, "ml-prod": {"mode": "set"}}
    policy = SubmitPolicy.of({"submit": {"mode": "off", "namespaces": places}})
    modes = [policy.rules_for(name, {}).mode for name in ("ml-prod", "ml-dev", "web")]
    assert modes == ["set", "annotate", "off"]


def test_a_namespace_takes_what_it_does_not_say_from_the_whole() -> None:
    held = {"limits": "set", "resources": ["cpu"], "namespaces": {"ml": {"mode": "set"}}}
    rules = SubmitPolicy.of({"submit": held}).rules_for("ml", {})
    assert (rules.mode, rules.limits, rules.resources) == ("set", "set", ("cpu",))


@pytest.mark.parametrize(
    ("label", "mode"),
    [("off", "off"), ("set", "annotate"), ("nonsense", "annotate"), (3, "annotate")],
)
def test_a_label_asks_for_less_never_for_more(label: Any, mode: str) -> None:
    policy = SubmitPolicy.of({"submit": {"mode": "annotate"}})
    assert policy.rules_for("ml", {LABEL: label}).mode == mode


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("on", "is a table"),
        ({"mode": "sett"}, "Did you mean 'set'"),
        ({"moode": "set"}, "Did you mean 'mode'"),
        ({"resources": "memory"}, "is a list"),
        ({"resources": ["disk"]}, "is a list"),
        ({"limits": "drop"}, "'keep' or 'set'"),
        ({"budget_ms": 0}, "between 1 and 10000"),
        ({"budget_ms": True}, "between 1 and 10000"),
        ({"token": "no"}, "true or false"),
        ({"labels": 1}, "true or false"),
        ({"namespaces": {"ml": "set"}}, "is a table"),
        ({"namespaces": {"ml": {"mode": 1}}}, "is unknown"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(held: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        SubmitPolicy.of({"submit": held})


def test_a_rule_for_a_user_counts_before_one_for_an_account_or_a_partition() -> None:
    held = {
        "mode": "dry-run",
        "partitions": {"gpu*": {"mode": "tell"}},
        "accounts": {"nlp": {"mode": "set"}},
        "users": {"ann": {"mode": "off"}},
    }
    policy = SubmitPolicy.of({"submit": held})

    def mode(partition: str, account: str, user: str) -> str:
        return policy.rules_for_slurm(partition=partition, account=account, user=user).mode

    assert mode("gpu2", "nlp", "ann") == "off"
    assert mode("gpu2", "nlp", "bob") == "set"
    assert mode("gpu2", "bio", "bob") == "annotate"
    assert mode("cpu", "bio", "bob") == "dry-run"


def test_a_policy_that_nobody_reads_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.serve.submit.policy import misplaced_policies

    workspace = tmp_path / "deep" / "ws"
    workspace.mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (workspace, tmp_path / "here"):
        (place / "prophase.toml").write_text('[submit]\nmode = "set"\n')
    (sentence,) = misplaced_policies(workspace, home=tmp_path)
    assert sentence.startswith(str(tmp_path / "here"))
    assert str(workspace / "prophase.toml") in sentence
