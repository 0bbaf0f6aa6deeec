"""`tinkwell completion`: prints the script with which a shell completes the command line."""

import rich_click as click
from click import shell_completion

_PROGRAM = "tinkwell"
_VARIABLE = "_TINKWELL_COMPLETE"

_HOW_TO_USE = {
    "bash": ("For this shell:   source <(tinkwell completion bash)", "For every shell:  add that line to ~/.bashrc"),
    "zsh": (
        "For this shell:   source <(tinkwell completion zsh)",
        'For every shell:  tinkwell completion zsh > "${fpath[1]}/_tinkwell"',
    ),
    "fish": (
        "For this shell:   tinkwell completion fish | source",
        "For every shell:  tinkwell completion fish > ~/.config/fish/completions/tinkwell.fish",
    ),
}


@click.command()
@click.argument("shell", type=click.Choice(list(_HOW_TO_USE)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, options and their values.

    \b
    source <(tinkwell completion bash)
    """
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None  # the choice allows only shells that click knows
    root = ctx.find_root().command
    # Called on the base class: click's class for bash also starts the installed bash, and warns if it is too old.
    script = shell_completion.ShellComplete.source(kind(root, {}, _PROGRAM, _VARIABLE)).strip().splitlines()
    # A zsh script that is loaded from fpath must begin with #compdef, so the comment comes after that line.
    head = 1 if script[0].startswith("#compdef") else 0
    comment = [f"# {text}" for text in _HOW_TO_USE[shell]]
    click.echo("\n".join([*script[:head], *comment, *script[head:]]))
