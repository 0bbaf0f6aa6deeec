"""Steps of DBOS that do nothing, in workflows one after the other.

prepare     url, executor, lanes, actions   replies once DBOS is ready
run         rounds                          replies once each lane has been through so many workflows
"""

import asyncio
import os
import urllib.parse

import dbos

from bench import generator

# Beside the connections for the lanes' steps, for what DBOS does in between.
_MORE_CONNECTIONS = 4


async def _do_nothing(place: int) -> None:
    pass


async def _do_steps(count: int) -> None:
    for place in range(count):
        await step(place)


step = dbos.DBOS.step()(_do_nothing)
workflow = dbos.DBOS.workflow()(_do_steps)


async def work(link: generator.Link) -> None:
    """Do what the messages say."""
    wanted = await link.receive()
    if wanted is None:
        return
    dbos.DBOS(config=_config(wanted["url"], executor=wanted["executor"], lanes=wanted["lanes"]))
    dbos.DBOS.launch()
    link.reply()
    while (message := await link.receive()) is not None:
        await asyncio.gather(*(_lane(wanted["actions"], message["rounds"]) for _ in range(wanted["lanes"])))
        link.reply()
    # Its threads would outlive the messages.
    os._exit(0)


def _config(url: str, *, executor: str, lanes: int) -> dbos.DBOSConfig:
    driver = urllib.parse.urlsplit(url)._replace(scheme="postgresql+psycopg").geturl()
    return {
        "name": "bench",
        "system_database_url": driver,
        "sys_db_pool_size": lanes + _MORE_CONNECTIONS,
        "max_executor_threads": 2 * lanes + _MORE_CONNECTIONS,
        "executor_id": executor,
        "application_version": "bench",
        "log_level": "WARNING",
        "enable_otlp": False,
    }


async def _lane(actions: int, rounds: int) -> None:
    for _ in range(rounds):
        handle = await dbos.DBOS.start_workflow_async(workflow, actions)
        await handle.get_result()


if __name__ == "__main__":
    generator.run(work)
