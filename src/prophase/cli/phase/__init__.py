"""prophase phase: what is a container doing now, and what comes next?"""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "fit": "fit",
    "label": "label",
    "show": "show",
    "expand": "expand",
    "sweep": "sweep",
    "scales": "scales",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    help="""Find the phases of series, label others as they run, and see what each phase is.

    Examples:

    `prophase phase fit ws`

    `prophase phase label ws more.csv --follow`
    """,
)
