"""The body of a webhook that has none of its own: a CloudEvent 1.0 in JSON.

For a rule on events it is the event: its id, and its JSON shape as data. For something that did not come there is no
event, so that one's id is the key of the effect, and the data say after which event nothing came, and for how long.
"""

from typing import Any

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from tinkwell.provisioner.automation.rule import model

CONTENT_TYPE = "application/cloudevents+json"
_MISSING = "tinkwell.expectation.missed"


def encode(effect: model.Effect) -> bytes:
    """Return the JSON text of the CloudEvent that tells of an effect's cause."""
    event = effect.event
    attributes: dict[str, Any] = {
        "specversion": "1.0",
        "id": event.id,
        "source": f"/tinkwell/{event.resource_type.lower()}",
        "type": f"tinkwell.{event.name}",
        "datacontenttype": "application/json",
        # As an extension of the specification has it: text that sorts as the revisions do.
        "sequence": f"{event.revision:020}",
    }
    data = event.to_json()
    match effect.rule.trigger:
        case model.Expected(within=within):
            attributes |= {"id": effect.key, "type": _MISSING}
            data = {"rule": effect.rule.name, "within_seconds": within.total_seconds(), "after": data}
        case model.Pattern() if event.created_at is not None:
            attributes["time"] = event.created_at
    if event.resource_id:
        attributes["subject"] = event.resource_id
    return JSONFormat().write(CloudEvent(attributes, data))
