"""Numbers as the paper prints them, and how to get the data behind them."""

from __future__ import annotations

#: how to get the authors' rows and grid, and the whole trace
FETCH_ROWS = "prophase fetch polaris --out polaris"
FETCH_TRACE = "prophase fetch pai2020 --out pai2020"


#: Table I: workload -> rows in the trace, rows sampled
TABLE_I = {
    "bert": (10_940_142, 29_818),
    "ctr": (9_128_957, 24_881),
    "graphlearn": (4_888_371, 13_323),
    "inception": (10_781_289, 29_385),
    "nmt": (13_537, 37),
    "resnet": (60_863, 166),
    "rl": (849_626, 2_316),
    "vgg": (11_768, 32),
    "xlnet": (15_632, 43),
}
SAMPLED = 100_001
HOPKINS = 0.0033
#: the chosen clustering: HDBSCAN, least size 300, power transform, euclidean
CHOSEN = {"algorithm": "hdbscan", "min_cluster_size": 300, "transform": "power",
          "metric": "euclidean"}  # fmt: skip
CHOSEN_CLUSTERS, CHOSEN_OUTLIERS, CHOSEN_SILHOUETTE = 26, 24_603, 0.399
#: the score that chose it, which the paper's text prints beside it; it is no silhouette
CHOSEN_SCORE = 0.718
CLUSTERED = 75_398
METADATA, ONE_HOT = 5, 21_547
ACCURACY_PCT, TEXT_WEIGHTED_F1 = 95.19, 0.90
#: Section III-C 2: named as most relevant by SHAP, beside one user and one job name
DECIDING_WORDS = ("task=ps", "workload=graphlearn", "workload=bert")
#: Table V, profiles 0 to 25, and its two averages
TABLE_V_F1 = (
    0.94, 1.00, 1.00, 0.99, 1.00, 0.80, 0.00, 0.96, 0.99, 1.00, 0.99, 1.00, 1.00,
    1.00, 1.00, 0.99, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 0.41, 0.91, 0.46, 0.91,
)  # fmt: skip
TABLE_V_RECALL = (
    1.00, 1.00, 1.00, 0.99, 1.00, 1.00, 0.00, 0.99, 0.98, 1.00, 0.98, 1.00, 1.00,
    1.00, 1.00, 0.99, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 0.26, 0.99, 0.30, 1.00,
)  # fmt: skip
TABLE_V_SUPPORT = (
    415, 1172, 177, 607, 143, 134, 68, 134, 2509, 2316, 128, 64, 1104,
    468, 135, 158, 370, 116, 99, 435, 437, 57, 383, 1489, 426, 1536,
)  # fmt: skip
TABLE_V_MACRO_F1, TABLE_V_WEIGHTED_F1 = 0.90, 0.94
