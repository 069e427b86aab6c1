from __future__ import annotations

import pytest

from prophase.errors import FormatError, MissingFileError
from prophase.runs._yaml_file import YamlFile
from prophase.runs.pipeline import pipeline_of, read_pipeline

GOOD = """
name: demand
scenario: [region, articles]
node_memory: 8GiB
tasks:
  load: {command: "load {region} --day {date}", memory: 512MiB}
  train: {command: [train, "{articles}"], after: load, timeout: 2min, advised: [2GiB, 3GiB]}
"""


def pipeline(text: str):
    return pipeline_of(YamlFile(text, "pipeline.yaml"))


def test_amounts_times_and_commands_are_read():
    read = pipeline(GOOD)
    load, train = read.tasks.values()
    assert (load.memory_gib, load.command) == (0.5, ("load", "{region}", "--day", "{date}"))
    assert (train.after, train.timeout_s, train.advised_gib) == (("load",), 120.0, (2.0, 3.0))
    assert train.filled_in({"articles": 7}) == ["train", "7"]
    assert (read.executor, read.node_memory_gib) == ("local", 8.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks:\n  a: {command: x\n", r"line 3 column 1: is not valid YAML"),
        ("tasks:\n  a:\n\tcommand: x", r"line 3 column 1: is not valid YAML"),
        ("tasks: {}", "at least one task"),
        ("- a\n- b", "must hold 'key: value' lines"),
        (
            "task:\n  a: {command: x}",
            r"line 1 column 1: a pipeline has no key 'task'. Did",
        ),
        ("tasks:\n  a: {comand: x}", r"line 2 column 7: a task has no key 'comand'"),
        ("tasks:\n  a: {memory: 1}", "task 'a' has no command"),
        (
            "tasks:\n  a: {command: x, memory: lots}",
            r"line 2 column 19: memory: 'lots' is no",
        ),
        ("tasks:\n  a: {command: x, attempts: 0}", "attempts is 0"),
        ("tasks:\n  a: {command: 'x {regoin}'}", r"placeholder \{regoin\}, which nothing fills in"),
        ("tasks:\n  a: {command: 'x {'}", "for braces"),
        ("tasks:\n  a: {command: x, after: b}", "'b', which is no task"),
        ("tasks:\n  a: {command: x}\n  a: {command: y}", r"line 3 .* a second time"),
        ("name: 'a b'\ntasks:\n  a: {command: x}", "use letters"),
        ("scenario: [date]\ntasks:\n  a: {command: x}", "'date' cannot be the name"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, said):
    with pytest.raises(FormatError, match=said):
        pipeline(text)


def test_tasks_that_wait_for_each_other_are_named_in_order():
    circle = """
tasks:
  a: {command: x, after: c}
  b: {command: x, after: a}
  c: {command: x, after: b}
"""
    with pytest.raises(FormatError, match=r"line \d column \d.* in a circle: \w -> \w -> \w -> \w"):
        pipeline(circle)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.yaml: there is no such file"):
        read_pipeline(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="not a text file"):
        read_pipeline(tmp_path / "b.yaml")
