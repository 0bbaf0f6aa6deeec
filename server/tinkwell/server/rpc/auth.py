"""Who calls. Where tokens are configured each caller must bear one, and has the role of its owner; elsewhere callers
may name themselves, and each is an admin.

Only health checks are open to everybody: whoever makes them, such as a load balancer, often cannot bear a token.

The interceptor hands the caller to the servicers with the context of the call, since the generated methods have no
parameter for it; they read his name by `actor` and pass it on as an argument. `caller` has his role as well, for what
`access` cannot tell by the method.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from tinkwell.core import errors
from tinkwell.core.access import Caller, Role

ANONYMOUS = "anonymous"
MAX_ACTOR_CHARACTERS = 100

_OPEN_SERVICES = ("grpc.health.",)
_SCHEME = "bearer "


class Unauthenticated(errors.TinkwellError):
    """No valid token came with the call."""


class Authenticator:
    """Tells callers apart by their bearer tokens, given by name like their roles; who is given none is an admin."""

    def __init__(self, tokens: Mapping[str, str], roles: Mapping[str, Role] | None = None) -> None:
        # Digests are of one length, so that comparing them tells nothing about the length of a token.
        self._digests = {name: _digest(token) for name, token in tokens.items()}
        self._roles = roles or {}

    def authenticate(self, method: str, metadata: Iterable[tuple[str, str | bytes]]) -> Caller:
        """Return who makes a call of the method, such as `/tinkwell.api.v1.HardwareService/Push`."""
        if method.lstrip("/").startswith(_OPEN_SERVICES):
            return Caller(ANONYMOUS, Role.READER)
        values = list(metadata)
        if self._digests:
            name = self._bearer(_single(values, "authorization"))
            return Caller(name, self._roles.get(name, Role.ADMIN))
        return Caller(_checked_actor(_single(values, "x-tinkwell-actor")))

    def _bearer(self, authorization: str | None) -> str:
        if authorization is None:
            raise Unauthenticated("a token is needed: send the metadata authorization: Bearer TOKEN")
        if not authorization.lower().startswith(_SCHEME):
            raise Unauthenticated("the authorization must be of the form: Bearer TOKEN")
        digest = _digest(authorization[len(_SCHEME) :].strip())
        # Every token is compared, so that the time taken does not tell which ones come close.
        found = [name for name, known in self._digests.items() if hmac.compare_digest(digest, known)]
        if not found:
            raise Unauthenticated("the token is not known")
        return found[0]


class CallContext:
    """gRPC's context of a call, and who makes the call."""

    def __init__(self, context: object, caller: Caller) -> None:
        self._context = context
        self.caller = caller

    def __getattr__(self, name: str) -> object:
        return getattr(self._context, name)


def actor(context: object) -> str:
    """Return the name of who makes the call of this context."""
    return caller(context).name


def caller(context: object) -> Caller:
    """Return who makes the call of this context, which is the one that the interceptor has passed to the handler."""
    assert isinstance(context, CallContext)
    return context.caller


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _single(metadata: list[tuple[str, str | bytes]], key: str) -> str | None:
    found = [content for name, content in metadata if name == key]
    if len(found) > 1:
        raise errors.InvalidField.of(key, "the metadata occurs twice")
    if not found:
        return None
    return found[0].decode(errors="replace") if isinstance(found[0], bytes) else found[0]


def _checked_actor(name: str | None) -> str:
    if not name:
        return ANONYMOUS
    if len(name) > MAX_ACTOR_CHARACTERS or not name.isprintable():
        raise errors.InvalidField.of(
            "x-tinkwell-actor", f"must be at most {MAX_ACTOR_CHARACTERS} printable characters long"
        )
    return name
