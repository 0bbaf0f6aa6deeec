"""The file that rules are written in: YAML, checked strictly.

Whatever is wrong is an error before anything runs, with the rule and the field: an unknown key, an expression that
does not compile, a secret whose environment variable is not set.
"""

import base64
import binascii
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pydantic
from ruamel.yaml import error as yaml_error

from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.process_log import redaction
from tinkwell.core.value.yaml import scanner as yaml_scanner
from tinkwell.provisioner.automation.rule import checking, expression, model, schema
from tinkwell.sandbox import errors as sandbox

MAX_FILE_BYTES = 1 << 20
_SECRET_PREFIX = "whsec_"  # noqa: S105  (what every secret begins with)
_UNSET = "unset"
_OF_A_WORKFLOW = frozenset({ResourceType.WORKFLOW, ResourceType.ACTION})


class RuleError(Exception):
    """The file cannot be used; the text says which rule and field is wrong, a line for each."""


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
        file = schema.File.model_validate(document)
    except pydantic.ValidationError as error:
        lines = (f"{source}: {_place(document, each['loc'])}: {_reason(each)}" for each in error.errors())
        raise RuleError("\n".join(lines)) from error
    names = [each.name for each in file.rules]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RuleError(f"{source}: rules: the name {twice[0]} is given twice")
    builders = [_Builder(each, environment, source) for each in file.rules]
    rules = tuple(each.build() for each in builders)
    _check(builders, source)
    return model.RuleSet(name=file.name, since_seconds=file.since.total_seconds(), rules=rules)


def _check(builders: "Iterable[_Builder]", source: str) -> None:
    found = [(builder.name, *each) for builder in builders for each in builder.expressions]
    try:
        complaints = checking.complaints([each for _, _, each in found])
    except sandbox.SandboxError as error:
        raise RuleError(f"{source}: its expressions cannot be checked: {error.reason}") from error
    if lines := [
        f"{source}: rule {name}: {field}: {why}" for (name, field, _), why in zip(found, complaints, strict=True) if why
    ]:
        raise RuleError("\n".join(lines))


def _yaml(text: str, source: str) -> object:
    yaml = yaml_scanner.yaml()
    try:
        with warnings.catch_warnings():
            # It quotes lines as well, of a file that is in order.
            warnings.simplefilter("ignore", yaml_error.ReusedAnchorWarning)
            document: object = yaml.load(text)
    except (yaml_error.YAMLError, ValueError, RecursionError) as error:
        raise RuleError(f"{source}: is no YAML: {_complaint(error)}") from error
    # What is named once may be used often.
    if expression.weight(document, MAX_FILE_BYTES) > MAX_FILE_BYTES:
        raise RuleError(f"{source}: holds too many values, once its aliases are followed; write fewer")
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

    def __init__(self, source: schema.Rule, environment: Mapping[str, str] | None, file: str) -> None:
        self.name = source.name
        # All that there are in the rule, each with its field; they have yet to be checked.
        self.expressions: list[tuple[str, expression.Expression]] = []
        self._rule = source
        self._environment = environment
        self._file = file

    def build(self) -> model.Rule:
        trigger: model.Pattern | model.Expected
        if self._rule.expect is not None:
            expect = self._rule.expect
            trigger = model.Expected(
                after=self._noted("expect.after.if", expect.after.build()),
                event=self._noted("expect.event.if", expect.event.build()),
                within=expect.within,
            )
            if not expect.within:
                self._refuse("expect.within", "must be longer than nothing")
            cause = trigger.after
        else:
            assert self._rule.on is not None
            trigger = cause = self._noted("if", self._rule.on.build(self._rule.condition))
        return model.Rule(
            name=self.name, trigger=trigger, action=self._action(cause), concurrency=self._rule.concurrency
        )

    def _noted(self, field: str, pattern: model.Pattern) -> model.Pattern:
        if pattern.condition is not None:
            self.expressions.append((field, pattern.condition))
        return pattern

    def _note(self, field: str, node: expression.Node) -> None:
        self.expressions += [(field, each) for each in expression.expressions_of(node)]

    def _action(self, cause: model.Pattern) -> model.Action:
        do = self._rule.do
        if do.workflow is not None:
            return self._workflow(do.workflow, cause)
        if do.webhook is not None:
            return self._webhook(do.webhook)
        assert do.command is not None
        return self._command(do.command)

    def _workflow(self, source: schema.Workflow, cause: model.Pattern) -> model.StartWorkflow:
        if source.devices is None and not _is_of_a_workflow(cause):
            self._refuse("do.workflow.devices", "is needed where the event may be of no workflow")
        self._note("do.workflow.template", source.template)
        for name, text in (source.devices or {}).items():
            self._note(f"do.workflow.devices.{name}", text)
        return model.StartWorkflow(template=source.template, devices=source.devices)

    def _command(self, source: schema.Command) -> model.RunCommand:
        program, *arguments = source.argv
        for index, text in enumerate(arguments, 1):
            self._note(f"do.command.argv.{index}", text)
        return model.RunCommand(
            program=program.text,
            arguments=tuple(arguments),
            environment={
                name: self._variable(f"do.command.environment[{index}]", name)
                for index, name in enumerate(source.environment)
            },
            timeout_seconds=source.timeout.total_seconds(),
            attempts=source.attempts,
        )

    def _webhook(self, source: schema.Webhook) -> model.PostWebhook:
        url = source.url
        if source.url_env is not None:
            url = self._url("do.webhook.url_env", source.url_env)
        assert url is not None
        redaction.register(model.hidden_part(url))
        body = self._body(source.body)
        self._note("do.webhook.body", body)
        return model.PostWebhook(
            url=url,
            secret=self._secret(source.secret_env),
            headers=self._headers(source),
            body=body,
            has_body="body" in source.model_fields_set,
            is_private_allowed=source.allow_private,
            timeout_seconds=source.timeout.total_seconds(),
            attempts=source.attempts,
        )

    def _headers(self, source: schema.Webhook) -> dict[str, expression.Text]:
        headers = dict(source.headers)
        for name, text in source.headers.items():
            self._note(f"do.webhook.headers.{name}", text)
        for name, variable in source.headers_env.items():
            value = self._variable(f"do.webhook.headers_env.{name}", variable)
            redaction.register(value, *value.split())
            headers[name] = expression.Text.literal(value)
        for name, text in headers.items():
            if not model.is_header(text.text):
                self._refuse(f"do.webhook.headers.{name}", "must be visible ASCII characters")
        return headers

    def _url(self, field: str, variable: str) -> str:
        if self._environment is None:
            return f"${variable}"
        try:
            return schema.check_url(self._variable(field, variable))
        except ValueError as error:
            self._refuse(field, f"the variable {variable} {error}")

    def _body(self, body: Any) -> expression.Node:
        try:
            return expression.read_json(pydantic.TypeAdapter(pydantic.JsonValue).validate_python(body))
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
