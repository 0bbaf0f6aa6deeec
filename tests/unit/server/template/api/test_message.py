"""A template's message says what the template says."""

import datetime

from tinkwell.core.template.record import Template
from tinkwell.server.template.api import message

_MOMENT = datetime.datetime(2026, 11, 20, 12, 30, 1, 123456, tzinfo=datetime.UTC)


def test_a_template_has_all_its_fields() -> None:
    sent = message.to_message(Template("id", 2, "name", "data", _MOMENT, _MOMENT))
    assert (sent.id, sent.version, sent.name, sent.data) == ("id", 2, "name", "data")
    assert sent.created_at.ToDatetime(datetime.UTC) == sent.updated_at.ToDatetime(datetime.UTC) == _MOMENT
