"""prophase serve: everything over HTTP and in a browser."""

from prophase.cli.command_group import command_group

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "start": "start",
    "token": "token",
    "models": "models",
    "audit": "audit",
    "backup": "backup:backup_command",
    "restore": "backup:restore_command",
}

app = command_group(
    __name__,
    SUBCOMMANDS,
    by_default="start",
    no_args_is_help=False,
    help="""Answer over HTTP and in a browser.

    Examples:

    `prophase serve ws --open`

    `prophase serve token add ci --role feedback --workspace ws`
    """,
)
