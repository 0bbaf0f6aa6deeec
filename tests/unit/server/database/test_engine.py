"""When sessions of the pool forget their plans."""

from types import SimpleNamespace
from typing import Any

import pytest

from tinkwell.server.database import engine


def test_a_session_forgets_its_plans_whenever_its_age_has_doubled_and_later_each_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, forgotten = 1000, list[int]()
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now))
    session: Any = SimpleNamespace(run_async=lambda _: forgotten.append(now - 1000))
    entry: Any = SimpleNamespace(info={})
    for now in range(1000, 1200):  # noqa: B007  (it is the clock)
        engine._plan_anew(session, entry, session)
    assert forgotten == [1, 2, 4, 8, 16, 32, 64, 124, 184]
