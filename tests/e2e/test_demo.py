"""The demo, as `make demo` runs it."""

import itertools
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


async def output_of(folder: Path, **environment: str) -> str:
    """Run the demo to its end, and return all that it shows."""
    settings = {**PG_BIN, **environment}
    log = folder / "demo.log"
    async with process.running(str(DEMO), program=sys.executable, log=log, environment=settings) as demo:
        assert await demo.wait(deadline_seconds=210) == 0, demo.output
    assert "WORKFLOW_SUCCEEDED" in demo.output
    assert "The demo succeeded." in demo.output
    assert told(demo.output) == TOLD
    assert ": no violations\n" in demo.output
    return demo.output


def told(shown: str) -> dict[str, list[str]]:
    """Give what units were told after each command of `tinkwell app`, with repetitions as one.

    A bag that is written while another unit is about to read it is told of once or twice.
    """
    found: dict[str, list[str]] = {}
    for step in re.findall(r"^\$ tinkwell (?:app|unit run) (.+\n(?:.+\n)*)", shown, re.MULTILINE):
        lines = re.findall(r"^  (\S+/\d+|      ) +(\S+)(?: .*)?$", step, re.MULTILINE)
        units = list(itertools.accumulate((unit.strip() for unit, _ in lines), lambda last, unit: unit or last))
        events = ((unit, event) for unit, (_, event) in zip(units, lines, strict=True))
        if lines:
            found[step.split()[0]] = [f"{unit} {event}" for (unit, event), _ in itertools.groupby(events)]
    return found


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
