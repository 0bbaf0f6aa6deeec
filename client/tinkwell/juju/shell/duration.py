"""Lengths of time as Juju writes them: 10s, 1m30s, 0.5s."""

import re

import click

MAX_SECONDS = 36_500 * 86_400.0

_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])", re.ASCII)


def seconds(text: str) -> float:
    """Read a length of time, in seconds. Raises `ValueError` with a sentence."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; write it as 30s, 5m or 1h30m")
    found = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))
    if found > MAX_SECONDS:
        raise ValueError(f"{text!r} is more than 100 years")
    return found


def show(whole: int) -> str:
    """Write a number of seconds as Juju does: 5m0s, 1h0m0s, 10s."""
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{left}s"
    return f"{minutes}m{left}s" if minutes else f"{left}s"


class Duration(click.ParamType[float]):
    """A length of time; the value is in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the text."""
        if isinstance(value, int | float):
            return float(value)
        try:
            return seconds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
