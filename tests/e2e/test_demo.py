"""The demo, as `make demo` runs it."""

import os
import re
import sys
from pathlib import Path

import docker
import pytest
from integration.provisioner import engine_image, python_image

from support import process

DEMO = Path(__file__).parents[2] / "examples" / "demo" / "demo.py"
PG_BIN = {"TINKWELL_PG_BIN": os.environ["PG_BIN"]} if os.environ.get("PG_BIN") else {}
SETUP = ("install", "leader-elected", "config-changed", "start")
MEETING = ("joined", "changed")
PAGE, TEXT, SECOND = "page/0 texts-relation", "text/0 text-relation", "text/1 text-relation"
TOLD = [
    ["page/0 site-storage-attached", *(f"{unit} {event}" for unit in ("page/0", "text/0") for event in SETUP)],
    [f"{unit}-{event}" for unit in (PAGE, TEXT) for event in ("created", *MEETING)],
    [
        *(f"{unit}-{event}" for unit in (PAGE, TEXT) for event in MEETING),
        "text/1 install",
        f"{SECOND}-created",
        *(f"text/1 {event}" for event in ("leader-settings-changed", "config-changed", "start")),
        *(f"{SECOND}-{event}" for event in MEETING),
    ],
    [*(f"{unit}-departed" for unit in (PAGE, TEXT, SECOND)), f"{SECOND}-broken", "text/1 stop", "text/1 remove"],
    [f"{PAGE}-changed", "text/0 config-changed", f"{TEXT}-changed"],
    [f"{unit}-{event}" for unit in (PAGE, TEXT) for event in ("departed", "broken")],
    [],  # the audit
]


async def output_of(folder: Path, **environment: str) -> str:
    """Run the demo to its end, and return all that it shows."""
    # Whether ops can be installed is nothing that a test should depend on.
    settings = {**PG_BIN, "PIP_NO_INDEX": "1", **environment}
    log = folder / "demo.log"
    async with process.running(str(DEMO), program=sys.executable, log=log, environment=settings) as demo:
        # Alone on two cores its four acts take 28 s, and 160 s where seven others want each core.
        assert await demo.wait(deadline_seconds=210) == 0, demo.output
    assert "WORKFLOW_SUCCEEDED" in demo.output
    assert "The demo succeeded." in demo.output
    assert told(demo.output) == TOLD
    assert demo.output.count(": no violations\n") == 2
    first, second = re.findall(r"^password-hash: (\S+)$", demo.output, re.MULTILINE)
    assert first != second
    return demo.output


def told(shown: str) -> list[list[str]]:
    """Give what the units were told after each command, one after the other, with repetitions as one.

    A bag that is written while another unit is about to read it is told of once or twice.
    """
    steps: list[list[str]] = []
    unit = ""
    for line in shown[shown.index("$ tinkwell unit run") : shown.index("Charms of ops are not shown")].splitlines():
        if line.startswith("$ "):
            steps.append([])
        elif line.startswith("  "):
            unit = line[2:10].strip() or unit
            event = f"{unit} {line[10:].split()[0]}"
            if steps[-1][-1:] != [event]:
                steps[-1].append(event)
    return steps


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_processes_install_machines_and_then_a_release_on_them(tmp_path: Path) -> None:
    shown = await output_of(tmp_path, DEMO_RUNTIME="process")
    assert "shop DEPLOYED as revision 1" in shown
    assert ": 3 changed, 2 unchanged\n" in shown
    assert ": 1 changed, 4 unchanged\n" in shown
    assert ": 3 removed, 2 left in place\n" in shown


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_containers_install_machines_and_then_a_release_of_files(
    engine: docker.APIClient, tmp_path: Path
) -> None:
    python_image.provide_base(engine)
    bases = {"DEMO_BASE": engine_image.IMAGE, "DEMO_PYTHON_BASE": python_image.BASE}
    shown = await output_of(tmp_path, DEMO_RUNTIME="docker", **bases)
    assert ": 2 changed\n" in shown
    assert "hello UNINSTALLED" in shown


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_without_an_image_for_it_there_is_no_release_to_see(engine: docker.APIClient, tmp_path: Path) -> None:
    nowhere = "localhost:1/nowhere:v1"
    shown = await output_of(tmp_path, DEMO_RUNTIME="docker", DEMO_BASE=engine_image.IMAGE, DEMO_PYTHON_BASE=nowhere)
    assert "There is no release to see, since its image cannot be built:" in shown
