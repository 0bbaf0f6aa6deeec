"""A task, as the method of an action gets it."""

from typing import Any, NoReturn

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Surroundings, TaskGiven


class Task:
    """A task that the unit runs once; the first argument of a method with `@charm.action`.

    The return value of the method is the result. The task fails if the method calls `fail` or raises an error; then
    none of its changes is stored.
    """

    def __init__(self, given: TaskGiven, surroundings: Surroundings) -> None:
        self._given = given
        self._surroundings = surroundings
        self._failure: str | None = None

    @property
    def id(self) -> str:
        """The id of the task, which commands such as `tinkwell task show` take."""
        return self._given.id

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, with defaults; the method gets them as arguments, too."""
        return dict(self._given.parameters)

    @property
    def failure(self) -> str | None:
        """The text that `fail` was called with; None if it was not called."""
        return self._failure

    def log(self, text: str) -> None:
        """Add a line to the log of the task, which users see at once."""
        self._surroundings.log_task(text)

    def fail(self, why: str) -> None:
        """Make the task fail, with a sentence for people. The method runs on to its end; return after the call."""
        self._failure = why

    def defer(self) -> NoReturn:
        """Refuse, because a user waits for the task. Raises `CannotDefer`."""
        raise errors.CannotDefer("a task cannot be deferred: somebody waits for it")
