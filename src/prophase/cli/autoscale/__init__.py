"""prophase autoscale: allocate ahead of what comes, compare how, and do it."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "compare": "compare",
    "fit": "fit",
    "recommend": "recommend",
    "run": "run",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    by_default="compare",
    no_args_is_help=False,
    help="""Allocate CPU or memory over time by a policy that was judged on your own series.

    Examples:

    `prophase autoscale series.csv`

    `prophase autoscale fit series.csv --out memory.policy`

    `prophase autoscale run memory.policy --prometheus http://prometheus:9090`
    """,
)
