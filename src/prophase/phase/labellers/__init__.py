"""Ways of giving samples a phase, all causal, all with the same face."""

from prophase.phase.labellers.boltzmann import BoltzmannMeans
from prophase.phase.labellers.change_points import ChangePoints
from prophase.phase.labellers.hidden_markov import HiddenMarkov
from prophase.phase.labellers.labeller import Learner
from prophase.phase.labellers.nearest_centre import SampleMeans, WindowMeans

#: name -> (class, windows that are tried when none is given)
LABELLERS: dict[str, tuple[type[Learner], tuple[int, ...]]] = {
    "hmm": (HiddenMarkov, (1, 2)),
    "crbm": (BoltzmannMeans, (3,)),
    "samples": (SampleMeans, (1,)),
    "windows": (WindowMeans, (6, 12, 24)),
    "change-points": (ChangePoints, (6,)),
}
