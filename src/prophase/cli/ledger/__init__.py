"""prophase ledger: was the recommendation worth it?"""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "add": "add",
    "settle": "settle",
    "show": "show",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Keep every recommendation with its prediction, and settle it against what happened.

    Examples:

    `prophase ledger add recommendation.json --workspace ws`

    `prophase ledger settle later-jobs.csv --ledger ws`

    `prophase ledger show ws --prices prices.toml`
    """,
)
