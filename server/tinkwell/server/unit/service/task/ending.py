"""CommitEvent of a task, AppendTaskLog, and the end of tasks that nobody ends.

A task is run at most once. It ends with all of its effects if it has SUCCEEDED, and with none otherwise; whoever has
ended it and tells so again is answered as then.
"""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState
from tinkwell.core.unit.resolver.advance import advance_task
from tinkwell.core.value import check, document, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.delivery import effects, ending, fence
from tinkwell.server.unit.service.delivery.granting import TRIES
from tinkwell.server.unit.service.delivery.record import Next
from tinkwell.server.unit.service.delivery.turn import Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import hold
from tinkwell.server.unit.store.delivery import LookAgain
from tinkwell.server.unit.store.request import unit as units
from tinkwell.server.unit.store.task import asking, running
from tinkwell.server.unit.store.task.row import Task

# How long an agent has to end a task that is past its time, and to tell of it.
GRACE_SECONDS = 30.0
MAX_LINES = 1_000
_OVERDUE_AT_ONCE = 100
_MAX_MESSAGE_CHARACTERS = 1_000
_MAX_NUMBER = 2**31 - 1
_ENDS = (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.TIMEOUT, TaskState.CANCELLED)
_NOTHING = Effects()
