"""What callers may do: each has one role, and each method of the API says which roles it takes.

ADMIN      all
OPERATOR   all that people ask for, but for what secrets say and commands on machines
READER     what can be read without the contents of bags and secrets, and nothing that changes anything
AGENT      what provisioners and agents call while they work, and nothing that people ask for

The table of methods is `tinkwell.server.rpc.access`. Where more than the method decides, the service asks the caller:

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
    """Who makes a call, and what he may do."""

    name: str
    role: Role = Role.ADMIN

    def require(self, roles: Set[Role], what: str) -> None:
        """Refuse a caller who has none of the roles. `what` names what he asked for, such as `HardwareService.Push`.

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
