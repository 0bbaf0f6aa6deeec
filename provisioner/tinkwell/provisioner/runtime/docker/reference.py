"""Names of images, as far as it matters which registry they mean."""

DOCKER_HUB = "docker.io"


def host_of(image: str) -> str:
    """Return the registry that a name names, empty where it names none; the rule is Docker's."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""


def registry_of(image: str) -> str:
    """Return the registry that an image is pulled from."""
    return host_of(image) or DOCKER_HUB


def qualified(image: str, prefix: str) -> str:
    """Put the operator's registry before a name that names none."""
    return f"{prefix}/{image}" if prefix and not host_of(image) else image
