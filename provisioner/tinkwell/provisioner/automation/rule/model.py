"""What rules are: when something matches, or does not come, one thing is done."""

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.automation.rule import expression, key


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Selects events. An empty set selects all events; the conditions are combined with "and"."""

    resource_types: frozenset[ResourceType] = frozenset()
    event_types: frozenset[EventType] = frozenset()
    names: frozenset[str] = frozenset()
    condition: expression.Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """After one event, another about the same resource must come within a time."""

    after: Pattern
    event: Pattern
    within: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWorkflow:
    """Start a workflow; without `devices` for those of the event's own workflow."""

    template: expression.Text
    devices: Mapping[str, expression.Text] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PostWebhook:
    """POST to a URL; without a body of its own the event as a CloudEvent, without a secret unsigned."""

    # Nothing that shows the object shows what is secret of it.
    url: str = field(repr=False)
    secret: str | None = field(repr=False)
    headers: Mapping[str, expression.Text] = field(repr=False)
    body: expression.Node
    has_body: bool
    is_private_allowed: bool
    timeout_seconds: float
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """Run a program, which is no text to be filled in, with the event on its standard input."""

    program: str
    arguments: tuple[expression.Text, ...]
    environment: Mapping[str, str] = field(repr=False)
    timeout_seconds: float
    attempts: int


HEADER = "a header has visible ASCII characters"


def is_header(text: str) -> bool:
    """Whether a text can be the value of a header."""
    return text.isascii() and text.isprintable()


def origin(url: str) -> str:
    """Return scheme, host and port of a URL, which are no secret."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else url


def hidden_part(url: str) -> str:
    """Return what follows the origin: whoever knows it can send what the receiver believes."""
    return url.removeprefix(origin(url))


Action: TypeAlias = StartWorkflow | PostWebhook | RunCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; `concurrency` is how many of its effects run at once."""

    name: str
    trigger: Pattern | Expected
    action: Action
    concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of a file, under the name of their position. `since_seconds`: where one that is new begins."""

    name: str
    since_seconds: float
    rules: tuple[Rule, ...]

    @property
    def position(self) -> str:
        """The name of the position of what was done about events."""
        return f"automation_{self.name}"

    def position_of(self, rule: Rule) -> str:
        """Return the name of the position up to which a rule has nothing left to expect."""
        return f"automation_{self.name}_{rule.name}"

    @property
    def expecting(self) -> list[Rule]:
        """The rules that expect something; each has a position of its own."""
        return [each for each in self.rules if isinstance(each.trigger, Expected)]

    @property
    def patterns(self) -> list[Pattern]:
        """All patterns of all rules."""
        found: list[Pattern] = []
        for rule in self.rules:
            match rule.trigger:
                case Pattern() as pattern:
                    found.append(pattern)
                case Expected(after=after, event=event):
                    found += [after, event]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing to do: what a rule does about an event, or about another's missing after it.

    With a `condition` it is done only if that holds, which may take long to find out.
    """

    rule_set: str
    rule: Rule
    event: Event
    condition: expression.Expression | None = None

    @property
    def key(self) -> str:
        """The idempotency key."""
        return key.effect_key(self.event.id, rule_set=self.rule_set, rule=self.rule.name)

    @property
    def lane(self) -> tuple[str, str]:
        """Effects with the same lane are done one after another: those of a rule about one resource."""
        return self.rule.name, self.event.parent_id or self.event.resource_id
