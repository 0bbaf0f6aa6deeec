"""How much of what releases do goes on at once in this provisioner: places for calls, and keys that exclude each other.

Operations share both. One that finds no place for a call leaves the call, waits, and is woken when a place is free.
That place is kept for it, so that the operation which has freed it does not take it at once again; what the one that
was woken does not need goes to the next.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable


class Places:
    """So many calls may run at once. No method awaits, so that what was decided is still true when it is begun."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken = 0
        self._waiting: OrderedDict[str, Callable[[], None]] = OrderedDict()
        # Who was woken, and has not looked yet; a place is kept for each.
        self._woken: set[str] = set()

    def has(self, operation_id: str) -> bool:
        """Say whether there is a place for this operation."""
        return self._taken + len(self._woken - {operation_id}) < self._count

    def take(self, operation_id: str) -> bool:
        """Take a place, if there is one for this operation."""
        is_free = self.has(operation_id)
        if is_free:
            self._taken += 1
            self._woken.discard(operation_id)
        return is_free

    def force(self) -> None:
        """Take a place for what runs already."""
        self._taken += 1

    def free(self) -> None:
        """Give a place back."""
        self._taken -= 1
        self._wake()

    def wait(self, operation_id: str, wake: Callable[[], None]) -> None:
        """Have an operation woken once a place is free; one that waits already keeps its turn."""
        self._woken.discard(operation_id)
        self._waiting.setdefault(operation_id, wake)
        self._wake()

    def leave(self, operation_id: str) -> None:
        """Take note that an operation waits for no place."""
        self._woken.discard(operation_id)
        self._waiting.pop(operation_id, None)
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._taken + len(self._woken) < self._count:
            operation_id, wake = self._waiting.popitem(last=False)
            self._woken.add(operation_id)
            wake()


class Keys:
    """Which concurrency keys are in use here, by which operation."""

    def __init__(self) -> None:
        self._used: dict[str, Counter[str]] = {}
        self._wakes: dict[str, Callable[[], None]] = {}

    def enter(self, operation_id: str, wake: Callable[[], None]) -> None:
        """Have an operation told whenever a key has become free."""
        self._used[operation_id] = Counter()
        self._wakes[operation_id] = wake

    def leave(self, operation_id: str) -> None:
        """Take note that an operation uses nothing any more."""
        has_used = bool(self._used.pop(operation_id, None))
        self._wakes.pop(operation_id, None)
        if has_used:
            self._tell(operation_id)

    def use(self, operation_id: str, key: str) -> None:
        """Take note that an operation uses a key; the empty one is none."""
        if key:
            self._used[operation_id][key] += 1

    def free(self, operation_id: str, key: str) -> None:
        """Take note that an operation uses a key less by one."""
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
