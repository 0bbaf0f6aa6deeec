"""One hostile call: what it sends, to which port, and as whom. The same seed and number make the same one."""

import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass

from support.fuzz import message
from support.fuzz.method import Method
from support.fuzz.value import Known

Metadata = tuple[tuple[str, str | bytes], ...]

_SHOWN_BYTES = 60


class Port(enum.StrEnum):
    """What listens: the own port, where calls need a token, the same of a server without tokens, and Tinkerbell's."""

    GUARDED = "gRPC"
    OPEN = "gRPC without tokens"
    TINKERBELL = "Tinkerbell"


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a method with encoded requests; `has_token` where a token that is known comes with it."""

    number: int
    port: Port
    method: Method
    requests: Sequence[bytes]
    metadata: Metadata
    has_token: bool

    def __str__(self) -> str:
        sizes = " + ".join(f"{len(request):,}" for request in self.requests)
        begin = self.requests[0][:_SHOWN_BYTES] if self.requests else b""
        return f"case {self.number}: {self.port}, {self.method.path}, {sizes} bytes, {begin!r}"


@dataclass(frozen=True, slots=True)
class Source:
    """Makes cases. `methods` is what each port has; `tokens` are known ones, of each role, first that of an admin."""

    seed: int
    methods: dict[Port, Sequence[Method]]
    known: Known
    tokens: Sequence[str]

    def case(self, number: int) -> Case:
        """Make the case of a number. Methods take turns, so that none is left out; all else is drawn."""
        chance = random.Random(f"{self.seed}/{number}")
        # So often that most calls get as far as they can.
        port = chance.choices(list(Port), (5, 3, 3))[0]
        methods = self.methods[port]
        method = methods[number % len(methods)]
        count = chance.choice((0, 1, 1, 2, 5)) if method.sends_many else 1
        requests = [message.draw(chance, method.input_type, self.known) for _ in range(count)]
        has_token = port is Port.GUARDED and chance.random() < 0.8
        # Half of the calls may do what they ask for, whatever that is.
        token = self.tokens[0] if chance.random() < 0.5 else chance.choice(self.tokens)
        metadata: Metadata = (("authorization", f"Bearer {token}"),) if has_token else ()
        return Case(number, port, method, requests, metadata + self._odd_metadata(chance), has_token)

    def _odd_metadata(self, chance: random.Random) -> Metadata:
        if chance.random() < 0.85:
            return ()
        return chance.choice(
            (
                (("authorization", "Bearer nobody"),),
                (("authorization", "Bearer " + "x" * 3_000),),
                (("authorization", "Basic \x7e\x7e"), ("authorization", "")),
                (("x-tinkwell-actor", "x" * 200),),
                (("x-tinkwell-actor", "a"), ("x-tinkwell-actor", "b")),
                (("x-tinkwell-actor-bin", b"\x00\xff"), ("grpc-trace-bin", b"\xff" * 500)),
                tuple((f"x-{index}", "y" * 50) for index in range(50)),
                (("x", "y" * 7_000),),
            )
        )
