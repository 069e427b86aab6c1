"""The same text means the same at every door of ours."""

from __future__ import annotations

import pytest

from prophase.cli.retry import _gib
from prophase.profile.submission.submission import number_for
from prophase.runs._yaml_file import YamlFile
from prophase.runs.pipeline import pipeline_of
from prophase.runs.store.settings import _number, known_setting
from prophase.sim.queueing.parsing import parse_class
from prophase.sim.rules.parsing import as_rule
from prophase.sim.rules.preemption import Preemption
from prophase.sim.whatif.smallest_cluster import parse_wait_target
from prophase.trace.schema import JOBS


def task(key, value):
    text = f"tasks: {{a: {{command: x, {key}: '{value}'}}}}"
    return pipeline_of(YamlFile(text, "p.yaml")).tasks["a"]


def setting(key, value):
    return _number(key, value, known_setting(key))


@pytest.mark.parametrize("text", ["4G", "4Gi", "4GiB", "4GB", "4096M", "4"])
def test_four_gibibytes_are_four_gibibytes_everywhere(text):
    doors = {
        "ask": number_for(JOBS.get("request_memory_gib"), text, "job.yaml: memory"),
        "pipeline": task("memory", text).memory_gib,
        "retry": _gib(text, "--memory"),
        "runs set": setting("task.a.memory_gib", text),
    }
    assert set(doors.values()) == {4.0}


@pytest.mark.parametrize("text", ["90m", "1h30m", "1.5h", "90 min", "1:30:00", "90:00", "5400"])
def test_ninety_minutes_are_ninety_minutes_everywhere(text):
    doors = {
        "ask": number_for(JOBS.get("time_limit_s"), text, "job.yaml: time_limit"),
        "pipeline": task("timeout", text).timeout_s,
        "queueing": parse_class(f"arrivals=1/h,service={text}").service_mean_s,
        "simulate": as_rule(Preemption, f"checkpoint={text}", "preempt").checkpoint_s,
        "whatif": parse_wait_target(f"p95 wait < {text}").limit_s,
        "runs set": setting("lease_s", text),
    }
    assert set(doors.values()) == {5400.0}
