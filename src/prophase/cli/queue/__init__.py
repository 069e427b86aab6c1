"""prophase queue: the queue as it is now, run forward."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "slurm": "slurm",
    "kueue": "kueue",
    "eta": "eta",
    "sooner": "sooner",
    "why": "why",
    "whatif": "whatif",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Look at a live queue of Slurm or Kueue: when jobs start, why they wait, what would help.

    Examples:

    `prophase queue slurm --out now`

    `prophase queue eta 4711 --saved now --history ws`

    `prophase queue why train-7 --kueue`

    `prophase queue whatif --saved now --instead shortest --down n1,n2`
    """,
)
