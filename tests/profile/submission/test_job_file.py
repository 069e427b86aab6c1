from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import ProphaseError
from prophase.profile.submission.job_file import read_submissions
from prophase.profile.submission.submission import as_jobs

SLURM = "#!/bin/bash\n#SBATCH -A nlp --gres=gpu:1 -n 4\nsrun x\n"
MANIFEST = (
    "apiVersion: v1\nkind: Pod\nmetadata: {labels: {team: nlp}}\n"
    "spec: {containers: [{resources: {limits: {cpu: 4, nvidia.com/gpu: 1}}}]}\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.yaml", "account: nlp\ncpus: 4\ngpus: 1\n"),
        ("job.json", '{"group": "nlp", "request_cpu_cores": 4, "gpu": "1000m"}'),
        ("job.csv", "group,cpus,request_gpus,user\nnlp,4,1,\n"),
        ("noname", "group,cpus,request_gpus\nnlp,4,1\n"),
        ("job.csv", "group;cpu;gpus\nnlp;4;1\n"),
        ("job.sbatch", SLURM),
        ("pod.yaml", MANIFEST),
    ],
)
def test_one_job_in_every_form_gives_the_same_columns(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = read_submissions(tmp_path / name)
    wanted = {"group": "nlp", "request_cpu_cores": 4.0, "request_gpus": 1.0}
    assert {key: found.columns[key] for key in wanted} == wanted
    assert "user" not in found.columns


def test_several_jobs_of_a_file_come_in_order(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("- {id: a, user: ann}\n- {id: b, user: bob}\n---\nuser: eve\n")
    found = read_submissions(path)
    assert as_jobs(found)["user"].tolist() == ["ann", "bob", "eve"]
    assert [one.name for one in found] == ["a", "b", "job"]


def test_units_are_taken_off_and_fields_of_other_names_are_attributes(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("time_limit: 1h30m\nmemory: 512Mi\nuzer: ann\nduration_s: 5\nattr_batch: 64\n")
    (found,) = read_submissions(path)
    assert dict(found.columns) == {
        "time_limit_s": 5400.0, "request_memory_gib": 0.5, "attr_uzer": "ann", "attr_batch": 64.0,
    }  # fmt: skip
    assert "known only after" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yaml", "", "is empty"),
        ("a.yaml", "   \n", "is empty"),
        ("a.yaml", "just words", "names and values"),
        ("a.yaml", "a: [1, 2", "neither YAML"),
        ("a.yaml", "colour: {red: 1}", "says nothing that is known"),
        ("a.yaml", "gpus: two", "'two' is not a quantity"),
        ("a.yaml", "memory: -4Gi", "not an amount of memory"),
        ("a.yaml", "gpus: .inf", "more than there can be"),
        ("a.yaml", "gpus: yes", "'True' is not a quantity"),
        ("a.yaml", "gpus: 1\ngpu: 2", "a second time"),
        ("a.yaml", "user: [a, b]", "is one value"),
        ("a.sh", "#!/bin/bash\necho hi\n", "without #SBATCH"),
        ("a.csv", "x,y\n1,2\n", "no column of its first line"),
        ("a.csv", "user,gpus\nann\n", "has 1 cell"),
        ("a.csv", "user,gpus\n", "describes no job"),
        ("a.csv", "user,gpus\n" + "ann,1\n" * 60, "prophase predict"),
        ("a.csv", "user,gpus\nann,-1\n", "line 2"),
    ],
)
def test_bad_files_are_refused_with_what_is_wrong(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProphaseError, match=words):
        read_submissions(tmp_path / name)


def test_missing_binary_and_huge_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProphaseError, match="no such file"):
        read_submissions(tmp_path / "none.yaml")
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ProphaseError, match="is not text"):
        read_submissions(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_bytes(b"a" * (5 << 20))
    with pytest.raises(ProphaseError, match="larger than 4 MiB"):
        read_submissions(tmp_path / "b.yaml")


def test_a_missing_cell_is_unknown_and_not_zero(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,gpus,memory\nann,nan,\n")
    assert dict(read_submissions(tmp_path / "a.csv")[0].columns) == {"user": "ann"}


@pytest.mark.parametrize(
    "text",
    ["user: 2024-13-45\n", "at: 2024-01-01T99:99:99Z\n", "x: !!int ''\n", "x: !!bool maybe\n",
     "x: !!timestamp soon\n", "gpus: 0x\n---\nuser: 2023-02-30\n"],
)  # fmt: skip
def test_a_date_or_number_that_cannot_be_one_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProphaseError, match=r"job\.yaml"):
        read_submissions(path)


def test_a_folder_is_told_from_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ProphaseError, match="folder, not the file of a job"):
        read_submissions(tmp_path)
