from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import FormatError, InputError, MissingFileError, ParameterError
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.range_probability import probability_above
from prophase.profile.slo import SloRule, judge_slo, read_rules


@pytest.fixture(scope="module")
def history() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    count = 2_000
    user = draw.choice(["ann", "bob", "eve", "joe"], count)
    middle = pd.Series(user).map({"ann": 4.0, "bob": 5.0, "eve": 6.0, "joe": 7.0}).to_numpy()
    submit = np.arange(count) * 60.0
    run = np.exp(middle + draw.normal(0, 0.8, count))
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "user": user,
            "queue": draw.choice(["prod", "lab"], count),
            "submit_s": submit,
            "end_s": submit + run,
            "duration_s": run,
        }
    )


@pytest.fixture(scope="module")
def model(history: pd.DataFrame) -> JobModel:
    return learn(history[:1400], ["duration_s"], method="shrinkage")


def test_rules_are_read_from_toml_and_yaml(tmp_path: Path) -> None:
    toml = tmp_path / "rules.toml"
    toml.write_text(
        '[[rule]]\nname = "short"\nmetric = "duration_s"\ncomparison = "<="\nvalue = "2h"\n'
        'where = { queue = "prod", request_gpus = 2 }\nconfidence = 0.9\n'
        '[[rule]]\nmetric = "memory_peak_gib"\ncomparison = ">"\nvalue = "512Mi"\n'
    )
    yaml = tmp_path / "rules.yaml"
    yaml.write_text("rules:\n- {metric: gpu_util_mean_pct, comparison: '>=', value: 30}\n")
    first, second = read_rules(toml)
    assert first == SloRule(
        "short", "duration_s", "<=", 7200.0, {"queue": "prod", "request_gpus": 2.0}, 0.9
    )
    assert (second.name, second.value) == ("memory_peak_gib > 512Mi", 0.5)
    assert read_rules(yaml)[0].comparison == ">="


def test_a_violation_is_predicted_from_the_chance_and_the_confidence(
    model: JobModel, history: pd.DataFrame
) -> None:
    rules = [
        SloRule("sure", "duration_s", "<=", 600.0, {"queue": "prod"}, 0.9),
        SloRule("likely", "duration_s", "<=", 600.0, {"queue": "prod"}, 0.5),
        SloRule("long", "duration_s", ">=", 20.0),
    ]
    found = judge_slo(model, rules, history[1400:])
    sure, likely, long = found.rules
    assert sure["jobs"] == likely["jobs"] == (history["queue"][1400:] == "prod").sum()
    assert sure["predicted"] > likely["predicted"] > 0
    assert set(found.violations["job_id"]) <= set(history["job_id"][1400:])
    assert found.violations["probability"].is_monotonic_decreasing
    assert long["jobs"] == 600


def test_predictions_are_judged_by_what_happened(model: JobModel, history: pd.DataFrame) -> None:
    (told,) = judge_slo(model, [SloRule("r", "duration_s", "<=", 400.0)], history[1400:]).rules
    actual = int((history["duration_s"][1400:] > 400).sum())
    assert told["judged"] == 600
    assert told["broken"] == actual
    assert told["caught"] > 0.7 * actual
    assert told["brier"] < 0.8 * told["brier_constant"]
    # chances add up to about as many violations as there were
    assert told["expected"] == pytest.approx(actual, rel=0.2)


def test_jobs_without_an_outcome_are_predicted_and_not_judged(model: JobModel) -> None:
    found = judge_slo(
        model, [SloRule("r", "duration_s", "<", 60.0)], pd.DataFrame({"user": ["joe"]})
    )
    assert found.predicted == 1
    assert "brier" not in found.rules[0]


def test_without_an_answer_nothing_is_claimed(history: pd.DataFrame) -> None:
    thin = learn(history[:5], ["duration_s"], method="shrinkage")
    found = judge_slo(thin, [SloRule("r", "duration_s", "<", 60.0)], history[5:7])
    assert found.predicted == 0
    assert found.rules[0]["no_answer"] == 2


def test_chances_fall_with_the_value_and_meet_at_the_ends() -> None:
    answers = pd.DataFrame({"value": [30.0, 10.0], "low": [10.0, 10.0], "high": [300.0, 10.0]})
    chances = np.array([probability_above(answers, at) for at in (1e-9, 1, 10, 20, 300, 1e9)])
    assert (np.diff(chances, axis=0) <= 0).all()
    assert chances[2, 0] == pytest.approx(0.95)
    assert chances[4, 0] == pytest.approx(0.05)
    assert chances[[1, 3], 1].tolist() == [1.0, 0.0]
    endless = answers.assign(high=np.inf)
    assert np.isnan(probability_above(endless, 5.0)).all()


def test_a_metric_the_model_does_not_know_is_refused(model: JobModel) -> None:
    with pytest.raises(ParameterError, match="has not learned 'read_bytes'"):
        judge_slo(model, [SloRule("r", "read_bytes", "<", 1.0)], pd.DataFrame({"user": ["ann"]}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no rules"),
        ("a = [", "not valid TOML"),
        ('[[rule]]\nmetric = "duration_s"\nvalue = 5', "has no comparison"),
        ('[[rule]]\nmetric = "duration"\ncomparison = "<"\nvalue = 5', "Did you mean 'duration_s'"),
        ('[[rule]]\nmetric = "duration_s"\ncomparison = "=="\nvalue = 5', "Use one of <="),
        ('[[rule]]\nmetric = "duration_s"\ncomparison = "<"\nvalue = "soon"', "is not a duration"),
        ('[[rule]]\nmetric = "duration_s"\ncomparison = "<"\nvalue = -1', "never below 0"),
        ('[[rule]]\nmetric="duration_s"\ncomparison="<"\nvalue=5\nconfidence=90', "0 and 1"),
        ('[[rule]]\nmetric="duration_s"\ncomparison="<"\nvalue=5\nqueue="x"', "has 'queue'"),
        ('[[rule]]\nmetric="duration_s"\ncomparison="<"\nvalue=5\nwhere="x"', "Write for example"),
        (
            '[[rule]]\nmetric="duration_s"\ncomparison="<"\nvalue=5\n[rule.where]\nwait_s=1',
            "wait_s",
        ),
        ("rule = [3]", "has to be a table"),
    ],
)
def test_bad_rules_are_refused_with_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_rules(tmp_path / "rules.toml")


def test_a_missing_file_of_rules_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file of rules"):
        read_rules(tmp_path / "rules.toml")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(FormatError, match="not valid YAML"):
        read_rules(tmp_path / "bad.yaml")
