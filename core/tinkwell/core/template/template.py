"""Templates: checked when they are stored, rendered for devices when a workflow is made from them.

A template is YAML with references to devices in Go's template language. `render` returns a text and actions without
references. A value fills a place within one text of the YAML and can never add to its structure (see
`gotemplate.output`).

Violations name the field by its path below the template's own, such as `data.tasks[0].actions[1].image`; descriptions
begin with the line and column in the template: `line 12, column 9: …`. If the values are wrong, the field is the path
below the devices' own, such as `hardware.device_1`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.template import reader, tree
from tinkwell.core.template import text as template_text
from tinkwell.core.template.gotemplate import program as gotemplate
from tinkwell.core.template.model import Action, Task, Template
from tinkwell.core.value import document, parse

__all__ = ["Action", "Rendered", "Task", "Template", "finish", "parse_template", "refusal", "render"]

MAX_TEMPLATE_BYTES = 1024 * 1024
# Quotes, indentation and merged mappings make the text of a template longer.
MAX_RENDERED_BYTES = 2 * 1024 * 1024
# All actions of a workflow fit into one message of 4 MiB.
MAX_ACTIONS_BYTES = 3 * 1024 * 1024
# Bounds the time that the server takes at once to write or read the actions.
MAX_ACTION_TEXTS = 30_000


@dataclass(frozen=True, slots=True)
class Rendered:
    """A template rendered for devices.

    `text` is YAML without template language: parts that look like it are text. `actions` are those of all tasks in
    order, each merged with the volumes and the environment of its task.
    """

    text: str
    template: Template
    actions: tuple[Action, ...]


def parse_template(text: str, *, field: str = "data") -> Template:
    """Check a template before its values are known; texts that depend on them keep their `{{…}}`.

    If values decide what is written (`if`, `with`, `range`), one valid variant is enough: with all bodies, all elses,
    or both. Raises InvalidField.
    """
    program = _parse_program(field, text)
    variants = list(gotemplate.Variant) if program.has_control else [gotemplate.Variant.BODIES]
    refused: errors.InvalidField | None = None
    for variant in variants:
        try:
            return _outline(field, program, variant)
        except errors.InvalidField as exc:
            refused = refused or exc
    assert refused is not None
    raise refused


def render(
    text: str, devices: document.JsonObject, *, field: str = "data", devices_field: str = "hardware"
) -> Rendered:
    """Render a template for its devices; raises InvalidField.

    It may take some seconds, most of them to parse the YAML.
    """
    program = _parse_program(field, text)
    try:
        output = program.execute(devices)
    except gotemplate.Fault as exc:
        raise refusal(field, devices_field, text, exc) from exc
    root = tree.compose(field, output)
    return finish(field, reader.read(field, root, place=output.place, needs_workers=True))


def finish(field: str, template: Template) -> Rendered:
    """Return the text and the actions of a template whose values are filled in; raises InvalidField."""
    return Rendered(_write(field, template), template, _flatten(field, template))


def _parse_program(field: str, text: str) -> gotemplate.Program:
    tree.check_characters(field, text)
    parse.check_size(field, text, max_bytes=MAX_TEMPLATE_BYTES)
    try:
        return gotemplate.parse(text)
    except gotemplate.Fault as exc:
        raise refusal(field, "", text, exc) from exc


def refusal(field: str, devices_field: str, text: str, fault: gotemplate.Fault) -> errors.InvalidField:
    """Return the error for a fault of a template, or of its devices if the fault has a key."""
    place = gotemplate.place(text, fault.offset)
    if fault.key is None:
        return errors.InvalidField.of(field, f"{place}: {fault.description}")
    for name in fault.key:
        devices_field = parse.child(devices_field, name)
    return errors.InvalidField.of(devices_field, f"{place} of the template: {fault.description}")


def _outline(field: str, program: gotemplate.Program, variant: gotemplate.Variant) -> Template:
    output = program.outline(variant)
    root = tree.compose(field, output, allows_repeated_keys=variant == gotemplate.Variant.BOTH)
    template = reader.read(field, root, place=output.place, needs_workers=False)
    _flatten(field, template)
    return template


def _write(field: str, template: Template) -> str:
    parts: list[str] = []
    size = 0
    for part in template_text.write(template):
        size += len(part.encode())
        if size > MAX_RENDERED_BYTES:
            raise errors.InvalidField.of(field, f"has more than {MAX_RENDERED_BYTES:,} bytes when it is rendered")
        parts.append(part)
    return "".join(parts)


def _flatten(field: str, template: Template) -> tuple[Action, ...]:
    """Return all actions in order, each merged with its task's settings; the action's own settings win."""
    actions: list[Action] = []
    size = texts = 0
    for task in template.tasks:
        for action in task.actions:
            actions.append(_with_what_its_task_gives(action, task))
            size += _size(actions[-1])
            texts += len(actions[-1].command) + len(actions[-1].volumes) + len(actions[-1].environment)
            if size > MAX_ACTIONS_BYTES:
                raise _too_large(field, f"{MAX_ACTIONS_BYTES:,} bytes")
            if texts > MAX_ACTION_TEXTS:
                raise _too_large(field, f"{MAX_ACTION_TEXTS:,} arguments, volumes and variables")
    return tuple(actions)


def _too_large(field: str, what: str) -> errors.InvalidField:
    reason = "since each gets the environment and the volumes of its task; make these smaller"
    return errors.InvalidField.of(field, f"its actions have more than {what} in all, {reason}")


def _with_what_its_task_gives(action: Action, task: Task) -> Action:
    if not (task.volumes or task.environment):
        return action
    return replace(
        action,
        volumes=_merge_volumes(task.volumes, action.volumes),
        environment=_merge_environment(task.environment, action.environment),
    )


def _merge_volumes(of_task: Iterable[str], of_action: Iterable[str]) -> tuple[str, ...]:
    """Merge by the host's part: the task's volumes first, without those that the action replaces."""
    own = {volume.partition(":")[0] for volume in of_action}
    return (*(volume for volume in of_task if volume.partition(":")[0] not in own), *of_action)


def _merge_environment(of_task: Iterable[str], of_action: Iterable[str]) -> tuple[str, ...]:
    merged = {variable.partition("=")[0]: variable for variable in (*of_task, *of_action)}
    return tuple(merged[key] for key in sorted(merged))


def _size(action: Action) -> int:
    texts = (action.task_name, action.name, action.image, action.pid, action.worker)
    lists = (action.command, action.volumes, action.environment, action.on_timeout, action.on_failure)
    return sum(len(text.encode()) for text in texts) + sum(len(text.encode()) for texts in lists for text in texts)
