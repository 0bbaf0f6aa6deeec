"""What a file of rules may hold: every key, and what each value must be."""

import re
import urllib.parse
from datetime import timedelta
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator

from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.value import parse
from tinkwell.provisioner.automation.rule import expression, model

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

K = TypeVar("K")


def _duration(value: object) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([smhd])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a number and a unit, such as 30s, 15m, 2h or 1d")
    return timedelta(seconds=int(found[1]) * _UNIT_SECONDS[found[2]])


def _timeout(value: object) -> timedelta:
    duration = _duration(value)
    if not timedelta(seconds=1) <= duration <= timedelta(hours=1):
        raise ValueError("must be from 1s to 1h")
    return duration


def _several(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _condition(value: object) -> expression.Expression:
    if not isinstance(value, str):
        raise ValueError("must be a CEL expression, as text")  # noqa: TRY004  (pydantic takes ValueError only)
    try:
        return expression.Expression(value)
    except expression.ExpressionError as error:
        raise ValueError(str(error)) from error


def _text(value: object) -> expression.Text:
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004  (pydantic takes ValueError only)
    try:
        return expression.Text(value)
    except expression.ExpressionError as error:
        raise ValueError(str(error)) from error


def _fixed(value: str) -> str:
    if expression.has_hole(value):
        raise ValueError("is not filled in, so it must not have {{ or }}")
    return value


def _event_name(value: str) -> str:
    try:
        return parse.parse_event_name("name", value)
    except errors.InvalidField as error:
        raise ValueError(error.violations[0].description) from error


def check_url(value: str) -> str:
    """Check a URL of a webhook; raises `ValueError`."""
    try:
        parts = urllib.parse.urlsplit(value)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ValueError("is no URL") from error  # its text quotes the URL, which may be secret
    if expression.has_hole(value):
        raise ValueError("must not have {{ or }}, since a URL is not filled in; the body and the headers are")
    if not is_usable or parts.username is not None or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("must be an http or https URL with a host, without a user, in visible ASCII")
    return value


_Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
_Duration = Annotated[timedelta, PlainValidator(_duration)]
_Timeout = Annotated[timedelta, PlainValidator(_timeout)]
_Fixed = Annotated[str, pydantic.AfterValidator(_fixed)]
_EventName = Annotated[str, pydantic.AfterValidator(_event_name)]
_Text = Annotated[expression.Text, PlainValidator(_text)]
_Condition = Annotated[expression.Expression, PlainValidator(_condition)]
_Several = Annotated[list[K], BeforeValidator(_several), Field(min_length=1)]
_Attempts = Annotated[int, Field(ge=1, le=100)]


class Part(pydantic.BaseModel):
    """What all parts of a file share."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, hide_input_in_errors=True)


class On(Part):
    """Which events are meant."""

    resource_type: _Several[Annotated[ResourceType, Field(strict=False)]] | None = None
    event_type: _Several[Annotated[EventType, Field(strict=False)]] | None = None
    name: _Several[_EventName] | None = None

    @pydantic.model_validator(mode="after")
    def _is_narrow(self) -> "On":
        if not (self.resource_type or self.event_type or self.name):
            raise ValueError("needs a resource_type, an event_type or a name")
        return self

    def build(self, condition: expression.Expression | None) -> model.Pattern:
        """Return what runs."""
        return model.Pattern(
            resource_types=frozenset(self.resource_type or ()),
            event_types=frozenset(self.event_type or ()),
            names=frozenset(self.name or ()),
            condition=condition,
        )


class Pattern(Part):
    """Which events are meant, and a condition."""

    on: On
    condition: _Condition | None = Field(None, alias="if")

    def build(self) -> model.Pattern:
        """Return what runs."""
        return self.on.build(self.condition)


class Expect(Part):
    """The event that must follow another event, and the time within which it must come."""

    after: Pattern
    event: Pattern
    within: _Duration


class Workflow(Part):
    """A workflow to start."""

    template: _Text
    devices: dict[_Fixed, _Text] | None = None

    @pydantic.field_validator("template")
    @classmethod
    def _is_named(cls, template: expression.Text) -> expression.Text:
        if not template.text:
            raise ValueError("must be the id or the name of a template")
        return template


class Webhook(Part):
    """A webhook to send."""

    url: Annotated[str, pydantic.AfterValidator(check_url)] | None = None
    url_env: _Variable | None = None
    secret_env: _Variable | None = None
    headers: dict[_HeaderName, _Text] = {}
    headers_env: dict[_HeaderName, _Variable] = {}
    body: Any = None
    allow_private: bool = False
    timeout: _Timeout = timedelta(seconds=10)
    attempts: _Attempts = 8

    @pydantic.model_validator(mode="after")
    def _has_one_url(self) -> "Webhook":
        if (self.url is None) == (self.url_env is None):
            raise ValueError("needs either url or url_env")
        return self


class Command(Part):
    """A program to run."""

    argv: Annotated[list[_Text], Field(min_length=1)]
    environment: list[_Variable] = []
    timeout: _Timeout = timedelta(seconds=60)
    attempts: _Attempts = 1

    @pydantic.field_validator("argv")
    @classmethod
    def _is_runnable(cls, argv: list[expression.Text]) -> list[expression.Text]:
        if argv[0].expressions or not argv[0].text:
            raise ValueError("its first item is the program, which must be written out: events must not choose it")
        if any("\0" in each.text for each in argv):
            raise ValueError("holds the NUL character, which no argument can hold")
        return argv


class Do(Part):
    """What a rule does: one thing."""

    workflow: Workflow | None = None
    webhook: Webhook | None = None
    command: Command | None = None

    @pydantic.model_validator(mode="after")
    def _is_one_thing(self) -> "Do":
        if len(self.model_fields_set) != 1 or None in (getattr(self, name) for name in self.model_fields_set):
            raise ValueError("needs exactly one of workflow, webhook and command")
        return self


class Rule(Part):
    """One rule."""

    name: _Name
    on: On | None = None
    condition: _Condition | None = Field(None, alias="if")
    expect: Expect | None = None
    do: Do
    concurrency: Annotated[int, Field(ge=1, le=100)] = 8

    @pydantic.model_validator(mode="after")
    def _has_one_trigger(self) -> "Rule":
        if (self.on is None) == (self.expect is None):
            raise ValueError("needs either on or expect")
        if self.expect is not None and self.condition is not None:
            raise ValueError("if belongs to on; an expect has one in after and one in event")
        return self


class File(Part):
    """The whole file."""

    name: _Name
    since: _Duration = timedelta(0)
    rules: Annotated[list[Rule], Field(min_length=1, max_length=200)]
