"""The `tinkwell` command with a reader that never gets the bell, and so polls for ever."""

from unittest import mock

from tinkwell.cli import main
from tinkwell.server.log.store.doorbell import PostgresBell


async def _refuse(_: PostgresBell) -> bool:
    return False


if __name__ == "__main__":
    with mock.patch.object(PostgresBell, "request", _refuse):
        main.main()
