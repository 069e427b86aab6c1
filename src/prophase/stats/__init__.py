"""How sure is that? One interval type, one rule for all intervals of the house.

Jobs of one day resemble each other, so days are compared, not jobs: every interval comes from
how much a number differs between blocks of time (`blocks`), with Student's t and as many degrees
of freedom as the blocks bear out. Below three blocks there is no interval, and the estimate says
why. `benchmarks/quality/interval_coverage.py` measures how often the intervals hold the truth.

=================================  =============================================================
`mean`, `ratio`, `difference`      of sums over jobs: delete-one-block jackknife
`quantile`                         the interval of the share below it, read back from the values
`statistics`, `from_draws`         anything else: whole blocks drawn with replacement
`share`                            how often something happens, such as kills
`from_replications`, `batch_means` values of independent runs of a simulation
`block_length.days_together`       how many days in a row a block needs to hold a backlog
`monthly`                          extrapolation to a month, refused below a week of history
=================================  =============================================================
"""

from prophase.stats.blocks import Blocks, calendar_blocks
from prophase.stats.bootstrap import from_draws, statistics
from prophase.stats.estimate import Estimate
from prophase.stats.interval_of_quantile import quantile
from prophase.stats.interval_of_ratio import difference, mean, ratio
from prophase.stats.interval_of_replications import batch_means, from_replications, mser5
from prophase.stats.interval_of_share import share, wilson_ends
from prophase.stats.month import monthly, months_in

__all__ = [
    "Blocks",
    "Estimate",
    "batch_means",
    "calendar_blocks",
    "difference",
    "from_draws",
    "from_replications",
    "mean",
    "monthly",
    "months_in",
    "mser5",
    "quantile",
    "ratio",
    "share",
    "statistics",
    "wilson_ends",
]
