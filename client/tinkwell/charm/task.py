"""A task, as the method gets it that an action of a charm is."""

from typing import Any, NoReturn

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Surroundings, TaskGiven


class Task:
    """What a unit was asked to do, once. It is the first argument of a method with `@charm.action`.

    What the method returns is the result. `fail` says that it has not succeeded, and so does whatever the method
    raises: then nothing that it has changed is kept.
    """

    def __init__(self, given: TaskGiven, surroundings: Surroundings) -> None:
        self._given = given
        self._surroundings = surroundings
        self._failure: str | None = None

    @property
    def id(self) -> str:
        """The id by which people know the task."""
        return self._given.id

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was given, with the defaults; the method has it as its arguments, too."""
        return dict(self._given.parameters)

    @property
    def failure(self) -> str | None:
        """Why it has failed, as far as `fail` was called; None where it was not."""
        return self._failure

    def log(self, text: str) -> None:
        """Tell a line of how it goes on, at once."""
        self._surroundings.log_task(text)

    def fail(self, why: str) -> None:
        """Have the task fail, with a sentence for people. The method runs on to its end; return after the call."""
        self._failure = why

    def defer(self) -> NoReturn:
        """Refuse: somebody waits for it. Raises `CannotDefer`."""
        raise errors.CannotDefer("a task cannot be deferred: somebody waits for it")
