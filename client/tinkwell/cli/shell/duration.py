"""Lengths of time on the command line."""

import re

import rich_click as click

MAX_DURATION_SECONDS = 36_500 * 86_400.0

_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])", re.ASCII)


class Duration(click.ParamType[float]):
    """A length of time such as `30s`, `5m`, `1h30m` or `2d`; the value is in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse the text; a bare number is refused, because its unit would be a guess."""
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
            self.fail(f"{text!r} has no unit; write {text}s, {text}m, {text}h or {text}d", param, ctx)
        if not _DURATION.fullmatch(text):
            self.fail(f"{text!r} is not a duration; write it as 30s, 5m, 1h30m or 2d", param, ctx)
        seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
        if seconds > MAX_DURATION_SECONDS:
            self.fail(f"{text!r} is more than 100 years", param, ctx)
        return seconds


def show(seconds: float) -> str:
    """Return a length of time for people: `14s`, `1m05s`."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
