"""Rules as a person reads them: one paragraph each, without what may be secret."""

from collections.abc import Iterable, Iterator

from tinkwell.provisioner.automation.effect import delivery_log
from tinkwell.provisioner.automation.rule import model


def describe(rules: model.RuleSet) -> Iterator[str]:
    """Yield lines that say what a rule set does."""
    count = len(rules.rules)
    yield f"{rules.name}: {count} rule{'s' if count > 1 else ''}, position {rules.position}"
    for each in rules.rules:
        yield f"{each.name}:"
        match each.trigger:
            case model.Pattern() as pattern:
                yield f"  on {_pattern(pattern)}"
            case model.Expected(after=after, event=event, within=within):
                yield f"  after {_pattern(after)}"
                yield f"  unless {_pattern(event)}"
                yield f"  within {within.total_seconds():g} s"
        yield f"  do {_action(each.action)}"


def _pattern(pattern: model.Pattern) -> str:
    parts = [_any_of(part) for part in (pattern.resource_types, pattern.event_types, pattern.names) if part]
    return " ".join(parts + ([f"if {pattern.condition.text}"] if pattern.condition else []))


def _any_of(values: Iterable[str]) -> str:
    return "|".join(sorted(values))


def _action(action: model.Action) -> str:
    target = delivery_log.target_of(action)
    match action:
        case model.StartWorkflow(devices=devices):
            whose = "the same devices" if devices is None else ", ".join(f"{k}={v.text}" for k, v in devices.items())
            return f"start {target} for {whose}"
        case model.PostWebhook() as hook:
            signed = "signed" if hook.secret is not None else "unsigned"
            private = ", private addresses allowed" if hook.is_private_allowed else ""
            return f"POST to {target}, {signed}{private}, {_times(hook.attempts)}"
        case model.RunCommand() as command:
            words = [command.program, *(text.text for text in command.arguments)]
            return f"run {' '.join(words)}, {_times(command.attempts)}"


def _times(attempts: int) -> str:
    return "once" if attempts == 1 else f"up to {attempts} times"
