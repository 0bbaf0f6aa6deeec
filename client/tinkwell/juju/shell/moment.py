"""Times as Juju writes them."""

from datetime import UTC, datetime


def juju(value: datetime | None) -> str:
    """Write a time as `status` does, in UTC: 27 Nov 2026 06:01:28Z; empty for None."""
    return "" if value is None else value.astimezone(UTC).strftime("%d %b %Y %H:%M:%SZ")


def iso(value: datetime | None) -> str:
    """Write a time as lists of secrets and models do, in UTC: 2026-11-27T06:01:28Z; empty for None."""
    return "" if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
