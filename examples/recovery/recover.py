"""React to WORKFLOW_TIMEOUT: start a recovery workflow for the same devices, and tell a webhook.

    python examples/recovery/recover.py --template recovery --webhook http://127.0.0.1:9000/hook [--server …] [--once]

The position is kept on the server under the name of this consumer, so a restart goes on where it stopped. An event may
be handled twice, when the process dies between its effect and the commit of the position; so both effects are made safe
to repeat: the recovery's id is derived from the event's, and the webhook carries the event's id for its receiver.
"""

import argparse
import asyncio
import json
import urllib.request
import uuid

import tinkwell.client
from tinkwell.client import Event, errors

CONSUMER = "recovery-example"
NAMESPACE = uuid.UUID("3c2f8d0e-7e0b-4c57-9a64-0b8f4e2a9d11")


async def main(server: str, template: str, webhook: str, once: bool) -> None:
    """Handle timeouts until interrupted; with `once`, end after the first."""
    async with tinkwell.client.connect(server, actor=CONSUMER) as client:
        position = await client.events.position(CONSUMER, claim=True)

        async def commit(watch: tinkwell.client.Watch) -> None:
            await client.events.commit_position(
                CONSUMER, revision=watch.revision, history_id=watch.history_id, token=position.token
            )

        # A consumer that is new begins five minutes ago, as every watch does that is told nothing else.
        watch = client.workflows.watch(
            event_types=["WORKFLOW_TIMEOUT"],
            from_revision=position.revision + 1 if position.revision else None,
            history_id=position.history_id if position.revision else "",
            on_bookmark=commit,
        )
        async for event in watch:
            # A recovery that times out itself is not recovered again.
            if event.data["template_name"] != template:
                await recover(client, event, template)
                await asyncio.to_thread(post, webhook, event)
                print(f"recovered from the timeout of workflow {event.resource_id}", flush=True)
            await commit(watch)
            if once:
                return


async def recover(client: tinkwell.client.Client, event: Event, template: str) -> None:
    """Start the recovery for the devices of the workflow that timed out; a second call changes nothing."""
    recovery = str(uuid.uuid5(NAMESPACE, event.id))
    try:
        await client.workflows.create(template, event.data["hardware"], id=recovery)
    except errors.AlreadyExists:
        print(f"recovery {recovery} was started before")


def post(webhook: str, event: Event) -> None:
    """Send the event as JSON."""
    body = {"id": event.id, "name": event.name, "workflow": event.resource_id, "cause": event.data["cause"]}
    request = urllib.request.Request(
        webhook,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="localhost:50051")
    parser.add_argument("--template", required=True, help="the recovery's template, by id or name")
    parser.add_argument("--webhook", required=True)
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.server, arguments.template, arguments.webhook, arguments.once))
