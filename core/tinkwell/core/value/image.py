"""References to container images, by the rule of Docker's "normalized named" references.

A reference is `[domain[:port]/]path[:tag][@sha256:digest]`. The first component is a domain if it holds a `.` or a `:`
or is `localhost`; without a domain Docker means `docker.io`, and there `library/` for a path of one component.
"""

import re

from tinkwell.core import errors
from tinkwell.core.value import parse

DOCKER_HUB = "docker.io"

MAX_NAME_CHARACTERS = 255
MAX_CHARACTERS = MAX_NAME_CHARACTERS + len(":") + 128 + len("@sha256:") + 64

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = re.compile(rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?")
_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_BARE_DIGEST = re.compile(r"[0-9a-f]{64}")


def parse_image(field: str, text: str) -> str:
    """Check a reference to an image, and return it unchanged."""
    if description := _find_mistake(text):
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not an image: {description}")
    return text


def host_of(image: str) -> str:
    """Return the registry in a name, "" if the name has none."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""


def registry_of(image: str) -> str:
    """Return the registry from which an image is pulled."""
    return host_of(image) or DOCKER_HUB


def qualified(image: str, prefix: str) -> str:
    """Put the operator's registry in front of a name without one."""
    return f"{prefix}/{image}" if prefix and not host_of(image) else image


def _find_mistake(text: str) -> str:
    """Return what is wrong with a reference; "" if it is right."""
    if not text:
        return "it is empty; write it as quay.io/project/image:v1"
    if len(text) > MAX_CHARACTERS:
        return f"it has {len(text):,} characters; at most {MAX_NAME_CHARACTERS} for the name and 128 for the tag"
    if "://" in text:
        return "leave out the scheme; write it as quay.io/project/image:v1"
    if _BARE_DIGEST.fullmatch(text):
        return "it is the id of an image; give its name"
    remainder, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        return "after @ there must be sha256: and 64 lower-case hexadecimal digits"
    name, colon, tag = remainder.rpartition(":")
    if not colon or "/" in tag:
        return _find_name_mistake(remainder)
    if not _TAG.fullmatch(tag):
        return "its tag must have 1 to 128 letters, digits, _, . and -, and begin with none of the last two"
    return _find_name_mistake(name)


def _find_name_mistake(name: str) -> str:
    domain, components = _split_domain(name)
    if domain and not _DOMAIN.fullmatch(domain):
        return "the part before the first / is not the host of a registry"
    for component in components:
        if not _COMPONENT.fullmatch(component):
            # The reference is shown as a whole, because masking may miss a part of a secret.
            return (
                "a part of its name has a wrong character; use lower-case letters and digits, joined by a dot, one "
                "or two underscores, or dashes"
            )
    if len("/".join([domain or DOCKER_HUB, *components])) > MAX_NAME_CHARACTERS:
        return f"its name has more than {MAX_NAME_CHARACTERS} characters"
    return ""


def _split_domain(name: str) -> tuple[str, list[str]]:
    """Split a name into its domain ("" for Docker's default) and its components, `library` included."""
    domain = host_of(name)
    components = name.removeprefix(f"{domain}/").split("/") if domain else name.split("/")
    return domain, components if len(components) > 1 or domain else ["library", *components]
