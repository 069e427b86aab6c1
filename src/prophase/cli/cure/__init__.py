"""prophase cure: requeue killed jobs with more of what they lacked."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "slurm": "slurm",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Requeue killed jobs with more of what they lacked.

    Examples:

    `prophase cure slurm --workspace ws`

    `prophase cure slurm 4711 --workspace ws`
    """,
)
