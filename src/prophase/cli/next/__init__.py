"""prophase next: what to measure next, and what to ask for in a first run."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "measure": "measure",
    "first-run": "first_run",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Say what to measure next, and what a job should ask for that nobody has run before.

    Examples:

    `prophase next measure ws --out scenarios.yaml`

    `prophase next first-run job.yaml --workspace ws`
    """,
)
