"""Hostile messages to every method on every port, of a fixed seed; `make fuzz` sends very many more of them.

The same by hand: `make fuzz SEED=30 MESSAGES=500 ARGS='--requests 60 --connections 12'`.
"""

from pathlib import Path

from support.fuzz import method, run
from support.fuzz.case import Port

SEED = 30
# How long others wait is judged by the run that has the machine for itself.
PATIENCE_SECONDS = 15.0


async def test_no_message_brings_a_fault_about_or_keeps_others_from_their_answers(
    database_url: str, tmp_path: Path
) -> None:
    options = run.Options(
        seed=SEED,
        database_url=database_url,
        directory=tmp_path,
        messages=700,
        requests=60,
        connections=12,
        patience_seconds=PATIENCE_SECONDS,
    )
    result = await run.run(options)
    print(result.text)
    assert result.violations == []
    called = {(ended.port, ended.path) for ended in result.record.calls}
    assert {path for port, path in called if port is Port.TINKERBELL} == {each.path for each in method.tinkerbell()}
    assert {path for port, path in called if port is not Port.TINKERBELL} == {each.path for each in method.own()}
    assert all(account.calls for account in result.record.accounts.values())
