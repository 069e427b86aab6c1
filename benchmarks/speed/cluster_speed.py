"""How long HDBSCAN takes, and in how much memory: the libraries that offer it, and ours.

Every fit runs in a fresh process that has loaded nothing but what it needs; CPU seconds and the
peak of its memory are those of that process. The baseline is the ``hdbscan`` library with its
exact spanning tree, in the same minutes: on a busy machine only the ratio to it means something.
Labels are compared with the baseline's (adjusted Rand index, in the remark); the library's default
approximates the tree. OPTICS is compared with scikit-learn's on few rows, and shown on a sample.

    python benchmarks/speed/cluster_speed.py [--rows 20000] [--whole 100001] [--optics 2000]

Needs the extra ``learn``, and ``fast_hdbscan``, which is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.synth.pai import make_pai
from record import Measurement, record

SIZE = 300
BASELINE = "hdbscan, exact"
FITS = {
    BASELINE: "from hdbscan import HDBSCAN\n"
    "fit = HDBSCAN({size}, min_samples={samples}, core_dist_n_jobs=1, "
    "approx_min_span_tree=False).fit_predict",
    "ours": "import hdbscan\n"
    "from prophase.profile.clusters.generators.density import Hdbscan\n"
    "fit = lambda v: Hdbscan({size}, min_samples={samples}).cluster(v).labels",
    "hdbscan, its default": "from hdbscan import HDBSCAN\n"
    "fit = HDBSCAN({size}, min_samples={samples}, core_dist_n_jobs=1).fit_predict",
    # scikit-learn counts a job among its own neighbours
    "scikit-learn": "from sklearn.cluster import HDBSCAN\n"
    "fit = HDBSCAN(min_cluster_size={size}, min_samples={samples} + 1, copy=True).fit_predict",
    "fast_hdbscan": "from fast_hdbscan import HDBSCAN\nimport numpy as np\n"
    "HDBSCAN(min_cluster_size=10).fit(np.random.default_rng(0).normal(size=(500, 17)))\n"
    "fit = HDBSCAN(min_cluster_size={size}, min_samples={samples}).fit_predict",
    "OPTICS of scikit-learn": "from sklearn.cluster import OPTICS\n"
    "fit = OPTICS(min_samples={samples}, min_cluster_size={samples}).fit_predict",
    "our OPTICS": "import sklearn.cluster\n"
    "from prophase.profile.clusters.generators.density import Optics\n"
    "fit = lambda v: Optics({samples}).cluster(v).labels",
    "OPTICS on a sample": "import sklearn.cluster\n"
    "from prophase.profile.clusters.generators.density import Optics\n"
    "fit = lambda v: Optics({size}, most_rows=10_000).cluster(v).labels",
}
OPTICS = ("OPTICS of scikit-learn", "our OPTICS")
MEASURED = """
import json, re, sys, time
import numpy as np
def peak():
    # not ru_maxrss, which a process inherits from the one that started it
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024
values = np.load(sys.argv[1])
{fit}
before, cpu = peak(), time.process_time()
labels = fit(values)
cpu = time.process_time() - cpu
np.save(sys.argv[2], labels)
print(json.dumps([cpu, peak(), before]))
"""


def usage_rows(rows: int, folder: Path) -> Path:
    """Store power-transformed metrics of a synthetic trace, (rows, 17)."""
    jobs = make_pai(jobs=rows).jobs
    features = usage_features(jobs[jobs["status"] == "completed"].head(rows))
    path = folder / f"{rows}.npy"
    np.save(path, fit_transform("power", features.values)(features.values))
    return path


def measure(name: str, values: Path, samples: int) -> tuple[float, float, float, Any]:
    """Return CPU seconds, peak MB, MB before the fit, and the labels."""
    labels = values.with_name("labels.npy")
    script = MEASURED.format(fit=FITS[name].format(size=SIZE, samples=samples))
    done = subprocess.run(
        [sys.executable, "-c", script, str(values), str(labels)],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, peak, before = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak, before, np.load(labels)


def compare(values: Path, names: list[str], samples: int, repeats: int) -> None:
    from sklearn.metrics import adjusted_rand_score

    rows = len(np.load(values, mmap_mode="r"))
    size = samples if names[0] in OPTICS else SIZE
    data = f"{rows:,} x 17 synthetic PAI rows, min_cluster_size {size}, min_samples {samples}"
    found = {name: [measure(name, values, samples) for _ in range(repeats)] for name in names}
    baseline, base = names[0], found[names[0]]
    for name, runs in found.items():
        labels = runs[-1][3]
        remark = (
            f"{labels.max() + 1} clusters, {(labels < 0).mean():.1%} outliers, adjusted Rand "
            f"index {adjusted_rand_score(base[-1][3], labels):.3f} with {baseline}; "
            f"{runs[-1][2]:.0f} MB before the fit"
        )
        print(remark)
        for place, what, unit in ((0, "time", "CPU s"), (1, "peak memory", "MB")):
            record(
                Measurement(
                    f"cluster {name}: {what}", unit, [run[place] for run in runs], baseline,
                    [run[place] for run in base], data, remark,
                )
            )  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000, help="rows of the comparison")
    options.add_argument("--whole", type=int, default=100_001, help="rows of ours; 0 for none")
    options.add_argument("--beside", nargs="*", default=[], help="others on the whole rows, too")
    options.add_argument("--optics", type=int, default=2_000, help="rows for OPTICS; 0 for none")
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--paper", action="store_true", help="min_samples 300, too")
    chosen = options.parse_args()
    names = [name for name in FITS if name not in ("fast_hdbscan", *OPTICS)]
    if importlib.util.find_spec("fast_hdbscan"):
        names.insert(-1, "fast_hdbscan")
    with TemporaryDirectory() as scratch:
        if chosen.rows:
            small = usage_rows(chosen.rows, Path(scratch))
            compare(small, names, 10, chosen.repeats)
            if chosen.paper:
                compare(small, [n for n in names if "OPTICS" not in n], SIZE, chosen.repeats)
        if chosen.optics:
            compare(usage_rows(chosen.optics, Path(scratch)), list(OPTICS), 50, chosen.repeats)
        if chosen.whole:
            whole = usage_rows(chosen.whole, Path(scratch))
            compare(whole, [BASELINE, "ours", *chosen.beside], 10, chosen.repeats)


if __name__ == "__main__":
    main()
