"""The deeds of a provisioner before, amid and after which it may be stopped."""

import enum


class Deed(enum.StrEnum):
    """What it does, in the order in which it does that."""

    ACQUIRE = "takes the operation"
    PLAN = "submits its plan"
    INTENT = "reports that an action runs"
    CLAIM = "claims a run"
    CREATE = "creates a run"
    INPUT = "writes the input of a run"
    START = "starts a run"
    EXIT = "awaits the end of a run"
    ANSWER = "reads the answer of a run"
    REPORT = "reports how an action ended"
    READY = "reports that a node is done"
    REMOVE = "removes a run"
    FINISH = "reports the end of the operation"


class Moment(enum.StrEnum):
    """When it is stopped: AMID is after the first half, of what is written byte by byte."""

    BEFORE = "before"
    AMID = "amid"
    AFTER = "after"
