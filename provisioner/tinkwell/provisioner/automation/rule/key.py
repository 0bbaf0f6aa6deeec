"""What makes an effect recognisable when it is repeated."""

import uuid

# Any fixed UUID does, as long as it stays.
_NAMESPACE = uuid.UUID("8d1f7f2c-6a0e-4c1b-9d7e-5b8a3f60c2e4")


def effect_key(event_id: str, *, rule_set: str, rule: str) -> str:
    """Return the idempotency key of what a rule does about an event: the same whenever it is done again."""
    return f"{event_id}:{rule_set}:{rule}"


def workflow_id(key: str) -> str:
    """Return the id of the workflow that an effect starts, so that starting it again changes nothing."""
    return str(uuid.uuid5(_NAMESPACE, key))
