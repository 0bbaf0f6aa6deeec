"""String maps that a charm may change: the bags of relations, and the state of a unit."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping


def _allow() -> None:
    """Allow everything."""


class Bag(MutableMapping[str, str]):
    """A string map whose changes are effects of the event: they are stored if the event succeeds.

    A handler sees its own changes at once. `may_read` and `may_write` raise if the access is not allowed.
    """

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        may_read: Callable[[], None] = _allow,
        may_write: Callable[[], None] = _allow,
    ) -> None:
        self._given = dict(given)
        self._data = dict(given)
        self._may_read = may_read
        self._may_write = may_write

    def __getitem__(self, key: str) -> str:
        self._may_read()
        return self._data[key]

    def __setitem__(self, key: str, value: str) -> None:
        self._may_write()
        for text in (key, value):
            if not isinstance(text, str):
                raise TypeError(f"keys and values are strings, not {type(text).__name__}; use str() or json.dumps()")
        self._data[key] = value

    def __delitem__(self, key: str) -> None:
        self._may_write()
        del self._data[key]

    def __iter__(self) -> Iterator[str]:
        self._may_read()
        return iter(self._data)

    def __len__(self) -> int:
        self._may_read()
        return len(self._data)

    def edits(self) -> dict[str, str | None]:
        """Return the changes: the new text of each changed key, None for a removed key."""
        changed: dict[str, str | None] = {key: text for key, text in self._data.items() if self._given.get(key) != text}
        return changed | dict.fromkeys(key for key in self._given if key not in self._data)
