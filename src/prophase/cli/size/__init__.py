"""prophase size: what should tasks ask for?"""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "recommend": "recommend",
    "bins": "bins",
    "replay": "replay",
    "watch": "watch",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    by_default="recommend",
    renamed={"advise": "recommend"},
    help="""Say what each task should ask for, at a risk you choose, and prove the saving.

    Examples:

    `prophase size ws --risk 1%`

    `prophase size ws --export nextflow`

    `prophase size replay ws --sizers request,krr,default`
    """,
)
