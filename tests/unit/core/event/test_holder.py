"""How whoever holds the log back is named."""

import pytest

from tinkwell.core.event.holder import Holder, names, sentence

HIDDEN = "what it does is hidden from this role, which lacks pg_read_all_stats"


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        (
            Holder(7, "psql", "ann", 31.6, "idle in transaction", "Client ClientRead"),
            'pid 7 (application "psql", role "ann", open for 32 s, idle in transaction)',
        ),
        (
            Holder(7, "", "ann", 2.0, "active", "IPC SyncRep"),
            'pid 7 (role "ann", open for 2 s, active, waits for IPC SyncRep)',
        ),
        (Holder(7, "psql", "ann", 2.0, "active"), 'pid 7 (application "psql", role "ann", open for 2 s, active)'),
        (Holder(7, "psql", "ann"), f'pid 7 (application "psql", role "ann", {HIDDEN})'),
        (
            Holder(role="ann", open_seconds=90.0, prepared="g"),
            'prepared transaction "g" (role "ann", open for 90 s, waits for COMMIT PREPARED or ROLLBACK PREPARED)',
        ),
    ],
)
def test_it_says_who_it_is_since_when_and_what_it_does(holder: Holder, text: str) -> None:
    assert str(holder) == text


def test_of_many_the_first_are_named_and_the_others_counted() -> None:
    holders = [Holder(pid, state="active") for pid in range(1, 9)]
    assert names(holders) == [*(f"pid {pid} (active)" for pid in range(1, 6)), "3 more"]
    assert sentence(holders[:2]) == "pid 1 (active); pid 2 (active)"


def test_where_all_have_ended_meanwhile_nobody_is_named() -> None:
    assert names([]) == []
    assert sentence([]) == "transactions that have ended by now"
