"""prophase collect: take what ended since the last time from a running system."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "slurm": "slurm",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Take what ended since the last time from a running system into a workspace.

    Examples:

    `prophase collect slurm --workspace ws`

    `prophase collect slurm --workspace ws --repeat 10m --learn`
    """,
)
