"""Leases, as calls return them."""

from dataclasses import dataclass

from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class Lease(Shaped):
    """A new lease: its token, for how many seconds it lives, and the workflows and operations that it holds already."""

    token: int
    seconds: float
    workflow_ids: tuple[str, ...] = ()
    operation_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renewed(Shaped):
    """A renewed lease.

    It lives for `seconds`; the lost workflows and operations are those whose owners' leases are over. The caller calls
    `workflows.expire` for each lost workflow, and may acquire a lost operation.
    """

    seconds: float
    lost_workflow_ids: tuple[str, ...] = ()
    lost_operation_ids: tuple[str, ...] = ()
