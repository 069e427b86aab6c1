from __future__ import annotations

import pytest

from prophase.errors import InputError
from prophase.profile.submission.slurm_script import from_script


def columns(*lines: str) -> dict[str, object]:
    script = "\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), "srun x"])
    return dict(from_script(script, "job.sbatch").columns)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["--job-name=bert", "--account nlp", "-p gpu"],
         {"name": "bert", "group": "nlp", "queue": "gpu"}),
        (["-J bert -A nlp --partition=gpu"], {"name": "bert", "group": "nlp", "queue": "gpu"}),
        (["--gres=gpu:a100:2"], {"request_gpus": 2.0, "gpu_type": "a100"}),
        (["--gres=gpu"], {"request_gpus": 1.0}),
        (["--gres gpu:4,lustre:1"], {"request_gpus": 4.0}),
        (["-N 2", "--gpus=a100:8"], {"request_gpus": 4.0, "gpu_type": "a100", "instances": 2.0}),
        (["-G4"], {"request_gpus": 4.0}),
        (["--gpus-per-node=v100:2 -N 3"], {"request_gpus": 2.0, "instances": 3.0}),
        (["-n 4 --gpus-per-task=1"], {"request_gpus": 4.0, "request_cpu_cores": 4.0}),
        (["--mem=64G"], {"request_memory_gib": 64.0}),
        (["--mem=2048"], {"request_memory_gib": 2.0}),
        (["-n 8 --mem-per-cpu=2G"], {"request_memory_gib": 16.0}),
        (["-G 2 --mem-per-gpu=32G"], {"request_memory_gib": 64.0}),
        (["-N 2 -n 8 -c 4"], {"request_cpu_cores": 16.0, "instances": 2.0}),
        (["-n 8 --ntasks-per-node=4 -c 2"], {"request_cpu_cores": 8.0, "instances": 2.0}),
        (["--time=1-12:00:00"], {"time_limit_s": 129_600.0}),
        (["-t 90"], {"time_limit_s": 5_400.0}),
        (["-q high -C a100", "--time=10 # not too long"],
         {"attr_qos": "high", "attr_constraint": "a100", "time_limit_s": 600.0}),
        (["--mem=1G", "--mem=8G"], {"request_memory_gib": 8.0}),
    ],
)  # fmt: skip
def test_every_spelling_of_an_option_is_read(lines: list[str], expected: dict[str, object]) -> None:
    found = columns(*lines)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("2:30", 150), ("1:00:00", 3600), ("1-0", 86400), ("1-6:30", 109800),
     ("0-00:10:05", 605)],
)  # fmt: skip
def test_all_forms_of_a_time_limit(text: str, seconds: float) -> None:
    assert columns(f"-t {text}")["time_limit_s"] == seconds


def test_directives_after_the_first_command_do_not_count() -> None:
    script = "#!/bin/bash\n#SBATCH -n 2\nmodule load x\n#SBATCH -n 64\n"
    assert from_script(script, "job").columns["request_cpu_cores"] == 2.0


def test_arrays_ranges_of_nodes_and_unused_options_are_reported() -> None:
    script = "#SBATCH --array=0-99:2%4 -N 2-4 --mem=0 --mail-type=END --exclusive\n"
    found = from_script(script, "job")
    assert found.columns["instances"] == 2.0
    told = " ".join(found.notes)
    assert "50 jobs of this kind" in told
    assert "the least number of nodes" in told
    assert "all memory of a node" in told
    assert "Not used: --mail-type, --exclusive" in told
    assert "time_limit_s" not in from_script("#SBATCH -t UNLIMITED -n 1\n", "job").columns


@pytest.mark.parametrize(
    ("line", "words"),
    [("--mem=much", "not an amount"), ("-N two", "not a whole number"), ("-t soon", "a duration"),
     ("--gres=gpu:2:a100", "gpu:a100:2"), ("-n", "has no value"), ("gpu", "not an option"),
     ('-J "open', "Close the quotation"), ("--array=x", "0-99")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_an_example(line: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        columns(line)
