"""What one run through the docker runtime costs beside `docker run --rm` of the same image."""

from bench.container.case import run

__all__ = ["run"]
