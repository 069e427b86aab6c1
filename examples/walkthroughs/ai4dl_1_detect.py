"""AI4DL, first walk-through: learn phases of containers and label them, with the README's calls."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from prophase.papers.ai4dl.model import AI4DL
from prophase.trace.synth.containers import make_containers

CONTAINERS, SAMPLES = 6, 150


def main() -> None:
    """Print the phases of each container as runs of equal labels."""
    usage = make_containers(CONTAINERS, samples=SAMPLES, kind="levels").tables["usage"]
    metrics = ["cpu_cores", "memory_gib"]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "usage.csv"
        usage[["series_id", *metrics]].to_csv(file, index=False)
        model = AI4DL()
        model.LoadTrainingDataset(file, metrics, "series_id")
        model.TrainModel(n_clusters=4, n_hidden=6, n_history=3, n_epochs=100, seed=1)
        for number, phases in enumerate(model.Evaluate()):
            changes = [0, *(n for n in range(1, len(phases)) if phases[n] != phases[n - 1])]
            told = ", ".join(f"{phases[at]} from sample {at}" for at in changes[:6])
            print(f"container {number}: {told}")


if __name__ == "__main__":
    main()
