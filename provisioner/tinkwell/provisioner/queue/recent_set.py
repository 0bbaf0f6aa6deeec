"""A bounded set of the ids that were added last."""

from collections import OrderedDict


class RecentSet:
    """A set of at most `limit` ids. When it is full, the oldest id makes room for a new one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def add(self, item: str) -> None:
        """Add an id. An id that is in the set already keeps its age."""
        self._items[item] = None
        if len(self._items) > self._limit:
            self._items.popitem(last=False)

    def discard(self, item: str) -> None:
        """Remove an id, if it is in the set."""
        self._items.pop(item, None)
