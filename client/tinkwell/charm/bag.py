"""String maps that a charm may change: relations' bags and its state."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping


def _allow() -> None:
    """Allow everything."""


class Bag(MutableMapping[str, str]):
    """A string map whose changes become effects of the event: they land with it or not at all.

    What was written can be read at once. `may_read` and `may_write` raise where that is not allowed.
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
        """Return what differs from what was given: the new text of a key, None for a key that is gone."""
        changed: dict[str, str | None] = {key: text for key, text in self._data.items() if self._given.get(key) != text}
        return changed | dict.fromkeys(key for key in self._given if key not in self._data)
