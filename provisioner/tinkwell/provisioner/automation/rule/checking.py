"""Compiles the expressions of a file in a limited child, before any of them is used."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tinkwell.provisioner.automation.rule import evaluation, expression
from tinkwell.sandbox import errors


def complaints(expressions: Sequence[expression.Expression]) -> list[str]:
    """Say what is wrong with each expression, or nothing. This takes some time, and blocks.

    Raises `tinkwell.sandbox.errors.SandboxError` where that cannot be found out.
    """
    if not expressions:
        return []
    # A loop cannot run in a thread that has one.
    with ThreadPoolExecutor(1, "checking") as threads:
        return threads.submit(asyncio.run, _complaints([each.text for each in expressions])).result()


async def _complaints(texts: list[str]) -> list[str]:
    found: list[str] = []
    async with evaluation.open_child() as child:
        while left := texts[len(found) :]:
            try:
                answer = json.loads(await child.call(json.dumps({"check": left}).encode()))
            except (errors.Exceeded, errors.Died) as error:
                if not error.piece:
                    raise
                # What came before it is asked again, and is known to be quick.
                place = int(error.piece)
                found += await _complaints(left[:place])
                found.append(f"{left[place]!r} cannot be used: it {_why(error)}")
            else:
                found += [
                    f"{text!r}{_separated(why)}" if why else "" for text, (_, why) in zip(left, answer, strict=True)
                ]
    return found


def _why(error: errors.SandboxError) -> str:
    return error.reason if isinstance(error, errors.Exceeded) else f"is too much to read: {error.reason}"


def _separated(why: str) -> str:
    return why if why.startswith(":") else f" {why}"
