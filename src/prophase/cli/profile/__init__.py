"""prophase profile: which kinds of job are there, and which kind is this one?"""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "fit": "fit",
    "show": "show",
    "plot": "plot",
    "clusterability": "clusterability",
    "grid": "grid",
    "compare": "compare",
    "classify": "classify",
    "explain": "explain",
    "running": "running",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Group jobs by how they use resources, and see what each group is.

    Examples:

    `prophase profile fit ws`

    `prophase profile show ws 8`
    """,
)
