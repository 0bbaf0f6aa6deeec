"""The time of a secret's next rotation, as a part of statements."""


def after_now(rotation: str) -> str:
    """Return the time of the next rotation, counted from now, as SQL; NULL for NEVER. `rotation` is an expression.

    A month is a calendar month in UTC, shortened to its last day if needed, as in `Rotation.next_after`.
    """
    return f"""
    (clock_timestamp() AT TIME ZONE 'UTC'
     + CASE {rotation} WHEN 'HOURLY' THEN interval '1 hour' WHEN 'DAILY' THEN interval '1 day'
                       WHEN 'WEEKLY' THEN interval '7 days' WHEN 'MONTHLY' THEN interval '1 month'
                       WHEN 'QUARTERLY' THEN interval '3 months' WHEN 'YEARLY' THEN interval '1 year' END)
    AT TIME ZONE 'UTC'
    """
