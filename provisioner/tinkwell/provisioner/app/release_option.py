"""The command line's options for releases.

Like `commands` it is imported to show help, so what costs time is imported inside the functions.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import rich_click as click

from tinkwell.provisioner.app.docker_option import setting

T = TypeVar("T")

ALL = "all"


def _parsed(ctx: click.Context, param: click.Parameter, values: Any, parse: Callable[[str], T]) -> tuple[T, ...]:
    from tinkwell.core import errors

    try:
        return tuple(map(parse, values))
    except errors.InvalidField as error:
        message = "; ".join(violation.description for violation in error.violations)
        raise click.BadParameter(message, ctx, param) from error


def _namespaces(ctx: click.Context, param: click.Parameter, values: Any) -> tuple[str, ...]:
    from tinkwell.core.release import name

    def parse(text: str) -> str:
        return ALL if text == ALL else name.parse_namespace("releases", text)

    return _parsed(ctx, param, values, parse)


def _grants(ctx: click.Context, param: click.Parameter, values: Any) -> tuple[Any, ...]:
    from tinkwell.provisioner.release.call import plug

    return _parsed(ctx, param, values, plug.parse_grant)


def _images(ctx: click.Context, param: click.Parameter, values: Any) -> tuple[Any, ...]:
    from tinkwell.provisioner.release.call import image_policy

    return _parsed(ctx, param, values, image_policy.parse_allowed)


OPTIONS = (
    setting(
        "--releases",
        callback=_namespaces,
        multiple=True,
        metavar="NAMESPACE|all",
        help="Carry out what is to be done about releases of this namespace, or of all; may be repeated. Without it, "
        "nothing is.",
    ),
    setting(
        "--plug",
        "plugs",
        callback=_grants,
        multiple=True,
        metavar="NAME=PATH[:ro][,ns=NAMESPACE][,images=REGEX]",
        help="Let resources use a file or folder of this machine, where their manifest has a plug of this name and "
        "path; may be repeated. With ns= those of one namespace alone, which may be repeated; with images=, last, only "
        "images whose name it matches as a whole.",
    ),
    setting(
        "--image-allow",
        callback=_images,
        multiple=True,
        metavar="REGEX",
        help="Run for releases only images whose name this matches as a whole; may be repeated.  [default: all]",
    ),
    setting(
        "--release-concurrency",
        type=click.IntRange(1, 1000),
        default=8,
        show_default=True,
        help="How many calls of resources may run at once, and how many operations are carried out beside each other.",
    ),
)


def settings_of(options: dict[str, Any]) -> Any:
    """Return what the options say as `main.ReleaseSettings`, None where no release is served."""
    from tinkwell.provisioner.app import main
    from tinkwell.provisioner.release import driver
    from tinkwell.provisioner.release.call import image_policy

    if not options.get("releases"):
        return None
    namespaces = options["releases"]
    return main.ReleaseSettings(
        namespaces=driver.ALL_NAMESPACES if ALL in namespaces else frozenset(namespaces),
        plugs=options["plugs"],
        images=image_policy.ImagePolicy(options["image_allow"]),
        concurrency=options["release_concurrency"],
    )
