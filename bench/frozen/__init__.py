"""One consumer that stops reading among many that do not."""

from bench.frozen.case import run

__all__ = ["run"]
