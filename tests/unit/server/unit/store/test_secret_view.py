"""What is seen of secrets where a unit's next event is decided on."""

from tinkwell.core.unit.ledger import SecretLedger
from tinkwell.server.unit.store.secret import view


def row(name: str, *, is_owner: bool = False, tracked: int = 0, removed: list[int] | None = None) -> list[object]:
    return [name, 2, is_owner, True, False, tracked, 0, [], removed or [], [[2, False, True]] if is_owner else None]


def test_a_former_leader_does_not_see_what_it_has_owned_and_never_read() -> None:
    rows = [row("led", removed=[1]), row("read", tracked=1), row("own", is_owner=True)]
    assert set(view.views(rows)) == {"read", "own"}
    # It is told of no revision again where it leads once more.
    assert view.ledgers(rows)["led"] == SecretLedger(removed=frozenset({1}))
