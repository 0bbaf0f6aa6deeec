"""The ids of what was seen last."""

from collections import OrderedDict


class RecentSet:
    """A set of ids with a bound. Full means that the id that was added first is forgotten."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def add(self, item: str) -> None:
        """Add an id; one that is there stays where it is in the order."""
        self._items[item] = None
        if len(self._items) > self._limit:
            self._items.popitem(last=False)

    def discard(self, item: str) -> None:
        """Forget an id, if it is there."""
        self._items.pop(item, None)
