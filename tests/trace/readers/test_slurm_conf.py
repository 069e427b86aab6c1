from pathlib import Path

import pytest

from prophase.errors import FormatError
from prophase.trace.readers.slurm_conf import node_names, read_conf
from prophase.trace.trace_tables import open_trace

CONF = """\
# slurm.conf of a small cluster
ClusterName=small
SchedulerParameters==bf_window=4320,bf_interval=30   # with a comment
NodeName=DEFAULT RealMemory=48000 Sockets=2 \\
    CoresPerSocket=6
NodeName=n[01-02] Feature=IB,CPU-N
NodeName=g1 CPUs=64 RealMemory=512000 Gres=gpu:a100:4 Weight=5
PartitionName=DEFAULT DefMemPerCPU=2800
PartitionName=normal Nodes=ALL
PartitionName=gpu Nodes=g1 DefMemPerCPU=8000
"""
TOPOLOGY = "SwitchName=leaf Nodes=n[01-02]\nSwitchName=top Switches=leaf\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    return tmp_path


def test_nodes_have_their_own_words_and_those_of_the_default(folder: Path) -> None:
    nodes = open_trace(folder).nodes.set_index("node_id")
    assert nodes.index.tolist() == ["g1", "n01", "n02"]
    assert nodes["cpu_cores"].tolist() == [64, 12, 12]
    assert nodes["memory_gib"].tolist() == [500, 46.875, 46.875]
    assert nodes["gpus"].tolist() == [4, 0, 0]
    assert nodes.loc["g1", "gpu_type"] == "a100"
    assert nodes.loc["n01", "features"] == "IB|CPU-N"
    assert nodes.loc["n02", "attr_switch"] == "leaf"
    assert nodes.loc["n02", "attr_switch_rank"] == 0
    assert nodes["attr_partitions"].tolist() == ["normal|gpu", "normal", "normal"]
    assert nodes["attr_weight"].tolist() == [5, 1, 1]


def test_settings_are_kept_whole(folder: Path) -> None:
    conf = read_conf([folder / "slurm.conf"])
    assert conf.settings["schedulerparameters"] == "bf_window=4320,bf_interval=30"
    assert conf.memory_gib_per_cpu("normal") == 2800 / 1024
    assert conf.memory_gib_per_cpu("gpu") == 8000 / 1024


def test_the_file_alone_is_recognised(folder: Path) -> None:
    trace = open_trace(folder / "slurm.conf")
    assert trace.source == "sacct"
    assert len(trace.nodes) == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("a[09-10],b", ["a09", "a10", "b"]),
        ("r[1-2]n[1,3]", ["r1n1", "r1n3", "r2n1", "r2n3"]),
    ],
)
def test_node_lists_are_spelt_out(text: str, names: list[str]) -> None:
    assert node_names(text) == names


def test_an_unfinished_list_is_refused_by_line(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nNodeName=n[1-3 CPUs=4\n")
    with pytest.raises(FormatError, match="line 2"):
        read_conf([tmp_path / "slurm.conf"])


def test_a_configuration_without_nodes_says_so(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\n")
    with pytest.raises(FormatError, match="names no nodes"):
        open_trace(tmp_path)


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nNodeName=n1 CPUs=many\n")
    with pytest.raises(FormatError, match="many"):
        open_trace(tmp_path)


PRINTED = """\
NodeName=g1 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=8 CPUEfctv=32 CPUTot=32 CPULoad=7.98
   AvailableFeatures=a100,ib
   Gres=gpu:a100:2(S:0-1)
   OS=Linux 5.14.0-362.el9.x86_64 #1 SMP PREEMPT_DYNAMIC
   RealMemory=256000 AllocMem=32768 FreeMem=180000 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=5 Owner=N/A MCS_label=N/A
   Partitions=gpu,all

NodeName=n1 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.01
   AvailableFeatures=(null)
   Gres=(null)
   RealMemory=128000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1
   Partitions=all
"""


@pytest.mark.parametrize("per_node", ["several lines", "one line"])
def test_what_scontrol_prints_is_a_list_of_nodes(tmp_path: Path, per_node: str) -> None:
    text = PRINTED
    if per_node == "one line":
        text = text.replace("\n   ", " ").replace("\n\n", "\n")
    (tmp_path / "nodes.txt").write_text(text)
    nodes = open_trace(tmp_path / "nodes.txt").nodes.set_index("node_id")
    assert nodes["cpu_cores"].tolist() == [32, 32]
    assert nodes["memory_gib"].tolist() == [250, 125]
    assert nodes["gpus"].tolist() == [2, 0]
    assert nodes.loc["g1", ["gpu_type", "features", "attr_partitions"]].tolist() == [
        "a100",
        "a100|ib",
        "gpu|all",
    ]


def test_included_files_are_followed_and_missing_ones_named(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nInclude nodes.conf\n")
    with pytest.raises(FormatError, match=r"line 2: includes nodes.conf, which is not there"):
        read_conf([tmp_path / "slurm.conf"])
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-2] CPUs=8 RealMemory=1024\n")
    assert sorted(read_conf([tmp_path / "slurm.conf"]).nodes) == ["n1", "n2"]
    (tmp_path / "nodes.conf").write_text("include slurm.conf\n")
    with pytest.raises(FormatError, match="in turn"):
        read_conf([tmp_path / "slurm.conf"])
