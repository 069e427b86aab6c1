"""The thesis' predictor: memory classified into bins, tuned against under-estimates.

Source: "Designing and implementing a load aware scheduler for machine learning jobs"
(IT 21 100). ``prophase reproduce thesis`` puts its tables beside ours.
"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sizing.thesis.binning import Binning, improvement, search_binning
    from prophase.sizing.thesis.experiments import Experiment, run_experiments
    from prophase.sizing.thesis.predictor import BinPredictor
    from prophase.sizing.thesis.preprocessing import Preprocessing
    from prophase.sizing.thesis.scores import Score, estimated_improvement, score
    from prophase.sizing.thesis.sizer import ThesisBins

_HOMES = {
    "BinPredictor": "predictor",
    "Binning": "binning",
    "Experiment": "experiments",
    "Preprocessing": "preprocessing",
    "Score": "scores",
    "ThesisBins": "sizer",
    "estimated_improvement": "scores",
    "improvement": "binning",
    "run_experiments": "experiments",
    "score": "scores",
    "search_binning": "binning",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "BinPredictor",
    "Binning",
    "Experiment",
    "Preprocessing",
    "Score",
    "ThesisBins",
    "estimated_improvement",
    "improvement",
    "run_experiments",
    "score",
    "search_binning",
]
