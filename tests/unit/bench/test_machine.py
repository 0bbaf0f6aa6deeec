"""What the page says about the machine."""

from pathlib import Path

import pytest

from bench import machine

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,discard,errors=continue
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 8:1 / /data rw,relatime shared:7 master:2 - xfs /dev/sda1 rw,nodiscard
31 22 0:40 / /tmp rw - tmpfs  rw
32 22 0:41 / /tmp rw - btrfs /dev/sdb rw,discard=async
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/lib/postgresql", "ext4, with discard"),
        ("/data", "xfs, without discard"),
        ("/data/postgresql", "xfs, without discard"),
        ("/database", "ext4, with discard"),
        # What was mounted last hides the other, whose source has no name; what is discarded later holds nothing up.
        ("/tmp/tinkwell", "btrfs, without discard"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, expected: str) -> None:
    assert machine.file_system(Path(path), MOUNTS) == expected


def test_a_file_system_that_is_not_told_is_unknown() -> None:
    assert machine.file_system(Path("/data"), "") == "unknown"
