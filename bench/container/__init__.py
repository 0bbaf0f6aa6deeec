"""What an action on the Docker Engine costs beside `docker run --rm` of the same image."""

from bench.container.case import run

__all__ = ["run"]
