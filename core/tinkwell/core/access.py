"""What callers may do: each caller has one role, and each method of the API names the roles that may call it.

ADMIN      everything
OPERATOR   all requests of people, except contents of secrets and commands on machines
READER     all reads except contents of bags and secrets; no changes
AGENT      the calls of provisioners and agents for their work; no requests of people

The table of methods is `tinkwell.server.rpc.access`. If more than the method decides, the service asks the caller:

    caller.require(access.ADMINS, "Publish of a reserved name")
"""

import enum
from collections.abc import Set
from dataclasses import dataclass

from tinkwell.core import errors


class Role(enum.StrEnum):
    """A role, as settings name it."""

    ADMIN = "admin"
    OPERATOR = "operator"
    READER = "reader"
    AGENT = "agent"


ADMINS = frozenset({Role.ADMIN})
OPERATORS = ADMINS | {Role.OPERATOR}
READERS = OPERATORS | {Role.READER}
AGENTS = ADMINS | {Role.AGENT}
EVERYBODY = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a method, with its role."""

    name: str
    role: Role = Role.ADMIN

    def require(self, roles: Set[Role], what: str) -> None:
        """Refuse a caller without one of the roles. `what` names the request, such as `HardwareService.Push`.

        Raises `errors.NotAllowed`.
        """
        if self.role in roles:
            return
        takers = " or ".join(role.value for role in Role if role in roles)
        raise errors.NotAllowed(
            f"{what} needs the role {takers}, and {self.name} has the role {self.role.value}: "
            "call with another token, or have TINKWELL_ROLES changed",
            role=self.role.value,
        )
