"""The file that rules are written in: YAML, checked strictly.

Whatever is wrong is an error before anything runs, with the rule and the field: an unknown key, an expression that
does not compile, a secret whose environment variable is not set.
"""

import base64
import binascii
import re
import urllib.parse
import warnings
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator
from ruamel.yaml import error as yaml_error

from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.process_log import redaction
from tinkwell.core.value import yaml_scanner
from tinkwell.provisioner.automation.rule import expression, model

MAX_FILE_BYTES = 1 << 20
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SECRET_PREFIX = "whsec_"  # noqa: S105  (what every secret begins with)
_UNSET = "unset"
_OF_A_WORKFLOW = frozenset({ResourceType.WORKFLOW, ResourceType.ACTION})

K = TypeVar("K")


class RuleError(Exception):
    """The file cannot be used; the text says which rule and field is wrong, a line for each."""


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


def _compiled(value: object) -> expression.Expression:
    if not isinstance(value, str):
        raise ValueError("must be a CEL expression, as text")  # noqa: TRY004  (pydantic takes ValueError only)
    try:
        return expression.Expression(value)
    except expression.ExpressionError as error:
        raise ValueError(str(error)) from error


def _url(value: str) -> str:
    try:
        parts = urllib.parse.urlsplit(value)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ValueError("is no URL") from error  # its text quotes the URL, which may be secret
    if not is_usable or parts.username is not None or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("must be an http or https URL with a host, without a user, in visible ASCII")
    return value


_Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
_Duration = Annotated[timedelta, PlainValidator(_duration)]
_Timeout = Annotated[timedelta, PlainValidator(_timeout)]
_Condition = Annotated[expression.Expression, PlainValidator(_compiled)]
_Several = Annotated[list[K], BeforeValidator(_several), Field(min_length=1)]
_Attempts = Annotated[int, Field(ge=1, le=100)]


class _Part(pydantic.BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, hide_input_in_errors=True)


class _On(_Part):
    resource_type: _Several[Annotated[ResourceType, Field(strict=False)]] | None = None
    event_type: _Several[Annotated[EventType, Field(strict=False)]] | None = None
    name: _Several[str] | None = None

    @pydantic.model_validator(mode="after")
    def _is_narrow(self) -> "_On":
        if not (self.resource_type or self.event_type or self.name):
            raise ValueError("needs a resource_type, an event_type or a name")
        return self

    def build(self, condition: expression.Expression | None) -> model.Pattern:
        return model.Pattern(
            resource_types=frozenset(self.resource_type or ()),
            event_types=frozenset(self.event_type or ()),
            names=frozenset(self.name or ()),
            condition=condition,
        )


class _Pattern(_Part):
    on: _On
    condition: _Condition | None = Field(None, alias="if")

    def build(self) -> model.Pattern:
        return self.on.build(self.condition)


class _Expect(_Part):
    after: _Pattern
    event: _Pattern
    within: _Duration


class _Workflow(_Part):
    template: Annotated[str, Field(min_length=1)]
    devices: dict[str, str] | None = None


class _Webhook(_Part):
    url: Annotated[str, pydantic.AfterValidator(_url)] | None = None
    url_env: _Variable | None = None
    secret_env: _Variable | None = None
    headers: dict[_HeaderName, str] = {}
    headers_env: dict[_HeaderName, _Variable] = {}
    body: Any = None
    allow_private: bool = False
    timeout: _Timeout = timedelta(seconds=10)
    attempts: _Attempts = 8

    @pydantic.model_validator(mode="after")
    def _has_one_url(self) -> "_Webhook":
        if (self.url is None) == (self.url_env is None):
            raise ValueError("needs either url or url_env")
        return self


class _Command(_Part):
    argv: Annotated[list[str], Field(min_length=1)]
    environment: list[_Variable] = []
    timeout: _Timeout = timedelta(seconds=60)
    attempts: _Attempts = 1


class _Do(_Part):
    workflow: _Workflow | None = None
    webhook: _Webhook | None = None
    command: _Command | None = None

    @pydantic.model_validator(mode="after")
    def _is_one_thing(self) -> "_Do":
        if len(self.model_fields_set) != 1 or None in (getattr(self, name) for name in self.model_fields_set):
            raise ValueError("needs exactly one of workflow, webhook and command")
        return self


class _Rule(_Part):
    name: _Name
    on: _On | None = None
    condition: _Condition | None = Field(None, alias="if")
    expect: _Expect | None = None
    do: _Do
    concurrency: Annotated[int, Field(ge=1, le=100)] = 8

    @pydantic.model_validator(mode="after")
    def _has_one_trigger(self) -> "_Rule":
        if (self.on is None) == (self.expect is None):
            raise ValueError("needs either on or expect")
        if self.expect is not None and self.condition is not None:
            raise ValueError("if belongs to on; an expect has one in after and one in event")
        return self


class _File(_Part):
    name: _Name
    since: _Duration = timedelta(0)
    rules: Annotated[list[_Rule], Field(min_length=1, max_length=200)]


def load(path: Path, environment: Mapping[str, str] | None) -> model.RuleSet:
    """Read and check a file; raises `RuleError`.

    Without an environment, variables are taken to be set: what they hold is not looked at.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise RuleError(f"{path}: has more than {MAX_FILE_BYTES:,} bytes")
        text = content.decode()
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: is not UTF-8: {error}") from error
    return parse(text, environment, source=str(path))


def parse(text: str, environment: Mapping[str, str] | None, *, source: str) -> model.RuleSet:
    """Check the text of a file, which errors call `source`; raises `RuleError`."""
    document = _yaml(text, source)
    try:
        file = _File.model_validate(document)
    except pydantic.ValidationError as error:
        lines = (f"{source}: {_place(document, each['loc'])}: {_reason(each)}" for each in error.errors())
        raise RuleError("\n".join(lines)) from error
    names = [each.name for each in file.rules]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RuleError(f"{source}: rules: the name {twice[0]} is given twice")
    rules = tuple(_Builder(each, environment, source).build() for each in file.rules)
    return model.RuleSet(name=file.name, since_seconds=file.since.total_seconds(), rules=rules)


def _yaml(text: str, source: str) -> object:
    yaml = yaml_scanner.yaml()
    try:
        with warnings.catch_warnings():
            # It quotes lines as well, of a file that is in order.
            warnings.simplefilter("ignore", yaml_error.ReusedAnchorWarning)
            document: object = yaml.load(text)
    except (yaml_error.YAMLError, ValueError, RecursionError) as error:
        raise RuleError(f"{source}: is no YAML: {_complaint(error)}") from error
    return document


def _complaint(error: Exception) -> str:
    """Say what is wrong and where, without lines and values, which the library quotes and which may be secret."""
    if not isinstance(error, yaml_error.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = re.sub(r" with value .*", "", error.problem or "", flags=re.DOTALL)
    return " ".join(part for part in (error.context, problem) if part) + where


def _place(document: Any, location: tuple[int | str, ...]) -> str:
    """Name the field of an error, and its rule by the name that it has rather than by its number."""
    rest = list(location)
    place = ""
    if len(rest) > 1 and rest[0] == "rules" and isinstance(rest[1], int):
        found = document["rules"][rest[1]]
        name = found.get("name") if isinstance(found, dict) else None
        place = f"rule {name}" if isinstance(name, str) else f"rule number {rest[1] + 1}"
        rest = rest[2:]
    field = ".".join(str(part) for part in rest)
    return ": ".join(part for part in (place, field) if part) or "the file"


def _reason(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "is no key that is known here"
    return str(error["msg"]).removeprefix("Value error, ")


class _Builder:
    """Turns one rule of a file into what runs, with what the environment holds."""

    def __init__(self, source: _Rule, environment: Mapping[str, str] | None, file: str) -> None:
        self._rule = source
        self._environment = environment
        self._file = file

    def build(self) -> model.Rule:
        trigger: model.Pattern | model.Expected
        if self._rule.expect is not None:
            expect = self._rule.expect
            trigger = model.Expected(after=expect.after.build(), event=expect.event.build(), within=expect.within)
            if not expect.within:
                self._refuse("expect.within", "must be longer than nothing")
            cause = trigger.after
        else:
            assert self._rule.on is not None
            trigger = cause = self._rule.on.build(self._rule.condition)
        return model.Rule(
            name=self._rule.name, trigger=trigger, action=self._action(cause), concurrency=self._rule.concurrency
        )

    def _action(self, cause: model.Pattern) -> model.Action:
        do = self._rule.do
        if do.workflow is not None:
            return self._workflow(do.workflow, cause)
        if do.webhook is not None:
            return self._webhook(do.webhook)
        assert do.command is not None
        return model.RunCommand(
            argv=tuple(do.command.argv),
            environment={
                name: self._variable(f"do.command.environment[{index}]", name)
                for index, name in enumerate(do.command.environment)
            },
            timeout_seconds=do.command.timeout.total_seconds(),
            attempts=do.command.attempts,
        )

    def _workflow(self, source: _Workflow, cause: model.Pattern) -> model.StartWorkflow:
        if source.devices is None:
            if not _is_of_a_workflow(cause):
                self._refuse("do.workflow.devices", "is needed where the event may be of no workflow")
            return model.StartWorkflow(template=source.template, devices=None)
        devices = {}
        for name, text in source.devices.items():
            try:
                devices[name] = expression.Text(text)
            except expression.ExpressionError as error:
                self._refuse(f"do.workflow.devices.{name}", str(error))
        return model.StartWorkflow(template=source.template, devices=devices)

    def _webhook(self, source: _Webhook) -> model.PostWebhook:
        url = source.url
        if source.url_env is not None:
            url = self._url("do.webhook.url_env", source.url_env)
        assert url is not None
        redaction.register(model.hidden_part(url))
        headers = dict(source.headers)
        for name, variable in source.headers_env.items():
            headers[name] = self._variable(f"do.webhook.headers_env.{name}", variable)
            redaction.register(headers[name], *headers[name].split())
        for name, text in headers.items():
            if not text.isascii() or not text.isprintable():
                self._refuse(f"do.webhook.headers.{name}", "must be visible ASCII characters")
        return model.PostWebhook(
            url=url,
            secret=self._secret(source.secret_env),
            headers=headers,
            body=self._body(source.body),
            has_body="body" in source.model_fields_set,
            is_private_allowed=source.allow_private,
            timeout_seconds=source.timeout.total_seconds(),
            attempts=source.attempts,
        )

    def _url(self, field: str, variable: str) -> str:
        if self._environment is None:
            return f"${variable}"
        try:
            return _url(self._variable(field, variable))
        except ValueError as error:
            self._refuse(field, f"the variable {variable} {error}")

    def _body(self, body: Any) -> expression.Node:
        try:
            return expression.compile_json(pydantic.TypeAdapter(pydantic.JsonValue).validate_python(body))
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            self._refuse("do.webhook.body", f"is not what JSON can hold: {first['msg']}")
        except expression.ExpressionError as error:
            self._refuse("do.webhook.body", str(error))

    def _secret(self, variable: str | None) -> str | None:
        if variable is None:
            return None
        secret = self._variable("do.webhook.secret_env", variable)
        if self._environment is not None:
            try:
                is_long = len(base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)) >= 16
            except (binascii.Error, ValueError):
                is_long = False
            if not is_long:
                what = f"the variable {variable} must hold {_SECRET_PREFIX} and at least 16 bytes in Base64"
                self._refuse("do.webhook.secret_env", what)
            redaction.register(secret, secret.removeprefix(_SECRET_PREFIX))
        return secret

    def _variable(self, field: str, name: str) -> str:
        if self._environment is None:
            return _UNSET
        if not (value := self._environment.get(name, "")):
            self._refuse(field, f"the environment variable {name} is not set")
        return value

    def _refuse(self, field: str, reason: str) -> NoReturn:
        raise RuleError(f"{self._file}: rule {self._rule.name}: {field}: {reason}")


def _is_of_a_workflow(pattern: model.Pattern) -> bool:
    if pattern.resource_types:
        return pattern.resource_types <= _OF_A_WORKFLOW
    if pattern.event_types:
        return all(kind.startswith(("WORKFLOW_", "ACTION_")) for kind in pattern.event_types)
    return bool(pattern.names) and all(name.startswith(("workflow.", "action.")) for name in pattern.names)
