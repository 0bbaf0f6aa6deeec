"""The names of settings in each place where they may be given, and the other names with their prefix."""

import difflib
from collections.abc import Collection, Mapping

from tinkwell.server import service_link

PREFIX = "TINKWELL_"
# Variables with the same prefix that belong to the client, to the provisioner, and to this component's commands.
_OTHERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "SERVER",
        "TOKEN",
        "TLS",
        "TLS_CA",
        "TLS_CERT",
        "TLS_KEY",
        "TLS_SERVER_NAME",
        "TIMEOUT",
        "DEBUG",
        "CONFIG",
        "PG_BIN",
        "RUNTIME",
        "CONCURRENCY",
        "PROCESS_IMAGES",
        "PROCESS_USER",
        "DOCKER_PRIVILEGED",
        "RESYNC_SECONDS",
        "EPHEMERAL",
        "DEFAULT_TEMPLATE",
        "AUTOMATION",
        "RELEASES",
        "PLUG",
        "IMAGE_ALLOW",
        "RELEASE_CONCURRENCY",
        "UNITS",
        "COLD",
    )
)
_OTHERS_PREFIXES = tuple(f"{PREFIX}{name}_" for name in ("PROVISIONER", "AGENT", "DEV", "DOCKER"))


def option(name: str) -> str:
    """Return the command-line option of a setting."""
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def unknown_variables(environment: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """Return a sentence about each variable that looks like a setting's and is not."""
    known = [variable(name) for name in settings]
    unknown = sorted(
        name
        for name, value in environment.items()
        if name.startswith(PREFIX)
        and name not in known
        and name not in _OTHERS
        and not name.startswith(_OTHERS_PREFIXES)
        and not service_link.is_one(name, value)
    )
    return [f"{name}: there is no such setting{hint(name, known)}" for name in unknown]


def hint(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about an unknown name: the name that may have been meant."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
