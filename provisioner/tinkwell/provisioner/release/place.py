"""Limits the calls that run at once in this provisioner: by places for calls, and by concurrency keys.

All operations share both. An operation that finds no place for a call postpones the call, and is woken when a place is
free. The place is reserved for it, so that the operation that freed the place cannot take it again at once. If the
woken operation does not need the place, the next one that waits gets it.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable


class Places:
    """Lets `count` calls run at once. No method awaits, so a place that `has` finds is still free for `take`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken = 0
        self._waiting: OrderedDict[str, Callable[[], None]] = OrderedDict()
        # Operations that were woken and have not looked for a place yet; one place is reserved for each.
        self._woken: set[str] = set()

    def has(self, operation_id: str) -> bool:
        """Return whether this operation can have a place."""
        return self._taken + len(self._woken - {operation_id}) < self._count

    def take(self, operation_id: str) -> bool:
        """Take a place, if there is one for this operation."""
        is_free = self.has(operation_id)
        if is_free:
            self._taken += 1
            self._woken.discard(operation_id)
        return is_free

    def force(self) -> None:
        """Take a place for a call that runs already, even if none is free."""
        self._taken += 1

    def free(self) -> None:
        """Give a place back."""
        self._taken -= 1
        self._wake()

    def wait(self, operation_id: str, wake: Callable[[], None]) -> None:
        """Wake an operation once a place is free; an operation that waits already keeps its turn."""
        self._woken.discard(operation_id)
        self._waiting.setdefault(operation_id, wake)
        self._wake()

    def leave(self, operation_id: str) -> None:
        """Stop waiting for a place."""
        self._woken.discard(operation_id)
        self._waiting.pop(operation_id, None)
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._taken + len(self._woken) < self._count:
            operation_id, wake = self._waiting.popitem(last=False)
            self._woken.add(operation_id)
            wake()


class Keys:
    """The concurrency keys that each operation uses in this provisioner."""

    def __init__(self) -> None:
        self._used: dict[str, Counter[str]] = {}
        self._wakes: dict[str, Callable[[], None]] = {}

    def enter(self, operation_id: str, wake: Callable[[], None]) -> None:
        """Call `wake` whenever another operation has freed a key."""
        self._used[operation_id] = Counter()
        self._wakes[operation_id] = wake

    def leave(self, operation_id: str) -> None:
        """Free all keys of an operation, and forget it."""
        has_used = bool(self._used.pop(operation_id, None))
        self._wakes.pop(operation_id, None)
        if has_used:
            self._tell(operation_id)

    def use(self, operation_id: str, key: str) -> None:
        """Count one more use of a key by an operation; the empty key is not counted."""
        if key:
            self._used[operation_id][key] += 1

    def free(self, operation_id: str, key: str) -> None:
        """Count one use less of a key by an operation."""
        used = self._used.get(operation_id)
        if used is None or not used[key]:
            return
        used[key] -= 1
        if not used[key]:
            del used[key]
            self._tell(operation_id)

    def busy(self, operation_id: str) -> frozenset[str]:
        """Return the keys that other operations use."""
        return frozenset(key for other, used in self._used.items() if other != operation_id for key in used)

    def _tell(self, operation_id: str) -> None:
        for other, wake in self._wakes.items():
            if other != operation_id:
                wake()
