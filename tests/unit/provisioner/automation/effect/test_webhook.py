"""Webhooks: where requests go, what they carry, and how answers are taken."""

import base64
import ipaddress
import json
from collections.abc import Sequence

import httpx
import pytest
import standardwebhooks
from unit.provisioner.automation.sample import event, rules

from tinkwell.provisioner.automation.effect import attempt, public_address, webhook
from tinkwell.provisioner.automation.rule import evaluation, model

SECRET = f"whsec_{base64.b64encode(b'0123456789abcdef').decode()}"
RULE = """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do: {webhook: {url: "https://hooks.example.com/a?b=c", secret_env: KEY, OPTIONS}}
"""


def effect(options: str = "headers: {X-Kind: test}") -> model.Effect:
    read = rules(RULE.replace("OPTIONS", options), KEY=SECRET)
    return model.Effect(rule_set=read.name, rule=read.rules[0], event=event(7, data={"name": "é"}))


def action_of(wanted: model.Effect) -> model.PostWebhook:
    assert isinstance(wanted.rule.action, model.PostWebhook)
    return wanted.rule.action


class Network:
    """Answers requests that were let through, and names as it is told, one answer after another."""

    def __init__(self, *answers: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.answers = list(answers) or ["1.1.1.1"]
        self.asked: list[tuple[str, int]] = []
        self.requests: list[httpx.Request] = []
        self.refusing: set[str] = set()
        self._response = (status, headers or {})

    async def resolve(self, host: str, port: int) -> Sequence[public_address.Address]:
        self.asked.append((host, port))
        return [ipaddress.ip_address(text) for text in self.answers.pop(0).split()]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        if request.url.host in self.refusing:
            raise httpx.ConnectError("refused")
        return httpx.Response(self._response[0], headers=self._response[1])


async def post(network: Network, wanted: model.Effect) -> attempt.Attempt:
    """Try once over this network."""
    transport = httpx.MockTransport(network.answer)
    async with evaluation.Evaluator() as evaluator:
        hook = webhook.Webhook(
            action_of(wanted), evaluator, concurrency=1, transport=transport, resolve=network.resolve
        )
        try:
            return await hook.attempt(wanted)
        finally:
            await hook.close()


async def test_the_connection_goes_to_the_address_that_was_checked_under_the_name_of_the_host() -> None:
    network = Network("10.0.0.1 1.1.1.1", "127.0.0.1")
    tried = await post(network, effect())
    assert tried.outcome is attempt.Outcome.DONE
    (request,) = network.requests
    assert (request.url.host, request.url.path, request.url.query) == ("1.1.1.1", "/a", b"b=c")
    assert request.headers["host"] == "hooks.example.com"
    assert request.extensions["sni_hostname"] == "hooks.example.com"
    # A name server that now says something else is not asked again.
    assert network.asked == [("hooks.example.com", 443)]


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1",
        "10.0.0.1 fe80::1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
        "64:ff9b:1::a00:1 ::ffff:0:10.0.0.1 192.0.0.8",
    ],
)
async def test_a_host_with_none_but_private_addresses_is_refused(found: str) -> None:
    network = Network(found)
    tried = await post(network, effect())
    assert tried.outcome is attempt.Outcome.HOPELESS
    assert "no public address" in tried.detail
    assert network.requests == []


async def test_private_addresses_are_reached_where_that_is_allowed() -> None:
    network = Network("::1")
    assert (await post(network, effect("allow_private: true"))).outcome is attempt.Outcome.DONE
    assert network.requests[0].url.host == "::1"


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    network = Network("1.1.1.1 8.8.8.8")
    network.refusing = {"1.1.1.1"}
    assert (await post(network, effect())).outcome is attempt.Outcome.DONE
    assert [request.url.host for request in network.requests] == ["1.1.1.1", "8.8.8.8"]


async def test_the_body_is_a_signed_cloud_event_with_the_key_as_its_id() -> None:
    network, wanted = Network(), effect()
    await post(network, wanted)
    (request,) = network.requests
    assert request.headers["content-type"] == "application/cloudevents+json"
    assert request.headers["x-kind"] == "test"
    assert request.headers["webhook-id"] == wanted.key
    assert standardwebhooks.Webhook(SECRET).verify(request.content, dict(request.headers))
    told = json.loads(request.content)
    assert (told["specversion"], told["id"], told["subject"]) == ("1.0", wanted.event.id, "one")
    assert (told["type"], told["sequence"]) == ("tinkwell.workflow.timeout", "00000000000000000007")
    assert told["data"] == wanted.event.to_json()


async def test_a_body_of_its_own_is_filled_in() -> None:
    network = Network()
    await post(network, effect('body: {text: "on {{ event.resource_id }}: {{ event.data.name }}"}'))
    assert json.loads(network.requests[0].content) == {"text": "on one: é"}
    assert network.requests[0].headers["content-type"] == "application/json"


async def test_headers_are_filled_in() -> None:
    network = Network()
    await post(network, effect('headers: {X-About: "{{ event.resource_id }}/{{ event.revision }}"}'))
    assert network.requests[0].headers["x-about"] == "one/7"


@pytest.mark.parametrize("text", ["{{ event.data.name }}", "{{ 'a' + '\\r\\nX-More: b' }}", "{{ event.data.none }}"])
async def test_a_header_that_becomes_what_none_can_be_is_hopeless(text: str) -> None:
    network = Network()
    tried = await post(network, effect(f"headers: {{X-About: {json.dumps(text)}}}"))
    assert tried.outcome is attempt.Outcome.HOPELESS
    assert network.requests == []


async def test_a_body_that_cannot_be_filled_in_is_hopeless() -> None:
    network = Network()
    assert (await post(network, effect('body: "{{ event.data.none }}"'))).outcome is attempt.Outcome.HOPELESS
    assert network.requests == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, "DONE") for status in (200, 204)),
        *((status, "HOPELESS") for status in (302, 400, 410)),
        *((status, "FAILED") for status in (408, 429, 500, 503)),
    ],
)
async def test_an_answer_is_taken_by_its_status(status: int, outcome: str) -> None:
    network = Network(status=status, headers={"location": "http://127.0.0.1/", "retry-after": "7"})
    tried = await post(network, effect())
    assert tried.outcome == outcome
    assert tried.not_before_seconds == (7 if outcome == "FAILED" else 0)
    assert len(network.requests) == 1
