"""Tries a type of resources out, and says what is wrong with it.

It takes a resource through its whole life, from `init` to a state after it is gone, and holds each answer against the
protocol, and the state against its contract: to ask for it changes nothing, and gives the same answer each time. What
needs another check to go well is skipped where that has failed, but what actions have made is destroyed in any case.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.protocol import answer
from tinkwell.core.release.protocol.difference import difference
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret.mask import Masker
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.call import recheck
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.resource import bad_config, folder
from tinkwell.provisioner.resource.caller import Caller, Ended
from tinkwell.provisioner.resource.finding import Finding, Verdict
from tinkwell.provisioner.runtime import port

SECONDS = {"state": 30, "action": 300, "destroy": 300, "ready": 60}

_ONE_DOCUMENT = "init and state print one JSON document on standard output; let them print the rest on standard error"
_ONLY_LOOKS = "state may be asked at any time and any number of times, so it only looks; do the rest in an action"
_REACHES = "let the actions bring about all that state compares, or let state compare less"
_BEARS = "destroy is repeated after a crash, so it goes well where nothing is there; let it look before it removes"


class Wrong(Exception):
    """A check has failed, or has a warning: what was wrong, and what to do about it."""

    def __init__(self, problem: str, remedy: str = "", *, verdict: Verdict = Verdict.FAILED) -> None:
        self.problem = problem
        self.remedy = remedy
        self.verdict = verdict
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, the names of those that must have gone well before it, and what it does."""

    name: str
    needs: tuple[str, ...]
    run: Callable[[], Awaitable[None]]


class Harness:
    """Tries out one type with one config, and with another one that it is changed to where there is one.

    `find_mounts` says what is mounted for the plugs that the image asks for.
    """

    def __init__(
        self,
        caller: Caller,
        find_mounts: Callable[[answer.InitAnswer], dict[str, port.Mount]],
        config: JsonObject,
        *,
        schemas: Schemas,
        then: JsonObject | None = None,
    ) -> None:
        self._caller = caller
        self._find_mounts = find_mounts
        self._config = config
        self._schemas = schemas
        self._then = then
        self._init = answer.InitAnswer(state=answer.Call(name="state"), document={})
        self._stale = answer.Stale(None, ())
        self._state: JsonObject | None = None
        # What is secret in configs and states is in no finding.
        self._secrets: frozenset[str] = frozenset()

    async def run(self) -> list[Finding]:
        """Make all checks, one after the other."""
        findings: list[Finding] = []
        bad: set[str] = set()
        for check in self._checks():
            missing = [name for name in check.needs if name in bad]
            if missing:
                finding = Finding(check.name, Verdict.SKIPPED, f"it needs {missing[0]!r} to go well")
            else:
                finding = await self._make(check)
            findings.append(finding)
            if finding.verdict in (Verdict.FAILED, Verdict.SKIPPED):
                bad.add(check.name)
        return findings

    async def _make(self, check: Check) -> Finding:
        began = time.monotonic()
        problem, remedy, verdict = "", "", Verdict.OK
        mask = Masker(self._secrets).mask_excerpt if self._secrets else str
        try:
            await check.run()
        except Wrong as error:
            problem, remedy, verdict = error.problem, error.remedy, error.verdict
        except answer.WrongAnswer as error:
            is_none = any("standard output must be" in each for each in error.problems)
            remedy = _ONE_DOCUMENT if is_none else "docs/reference/resource-protocol.md has the rules"
            problem, verdict = error.tell(mask), Verdict.FAILED
        except errors.InvalidField as error:
            problem, verdict = _told(error), Verdict.FAILED
        return Finding(check.name, verdict, mask(problem), remedy, time.monotonic() - began)

    def _learn(self, field: str, document: JsonObject | None) -> None:
        """Learn what is secret in a config or a state; raises `errors.InvalidField` for what is too short for one."""
        if document is not None:
            self._secrets |= secret_document.texts_at(field, document, self._init.extension.sensitive)

    def _checks(self) -> list[Check]:
        changed = ("state after the change", ("re-check",), self._change)
        checks = [
            ("init", (), self._ask_init),
            ("init again", ("init",), self._ask_init_again),
            ("init under Deployster", ("init",), self._ask_init_as_deployster),
            ("schema", ("init",), self._check_schema),
            ("config", ("schema",), self._check_config),
            ("bad configs", ("config",), self._check_bad_configs),
            ("state", ("init", "config"), self._ask_state),
            ("state again", ("state",), self._ask_state_again),
            ("actions", ("state",), self._act),
            ("re-check", ("actions",), self._recheck),
            ("state when VALID", ("re-check",), self._ask_valid_again),
            ("state under Deployster", ("re-check",), self._ask_state_as_deployster),
            *([changed] if self._then is not None else []),
            ("destroy", ("state",), self._destroy),
            ("state after destroy", ("destroy",), self._ask_absent),
            ("destroy again", ("destroy",), self._destroy_again),
        ]
        return [Check(*each) for each in checks]

    async def _ask_init(self) -> None:
        self._init = answer.parse_init(_answered(await self._caller.init(seconds=SECONDS["state"])))
        self._caller = Caller(
            runtime=self._caller.runtime,
            image=self._caller.image,
            name=self._caller.name,
            owner=self._caller.owner,
            mounts=self._find_mounts(self._init),
        )
        if self._caller.mounts and not self._caller.runtime.is_local:
            raise Wrong("it has plugs, and the engine is on another machine", "try it out on an engine of this machine")

    async def _ask_init_again(self) -> None:
        again = answer.parse_init(_answered(await self._caller.init(seconds=SECONDS["state"])))
        if paths := _unlike(self._init.document, again.document):
            raise Wrong(
                f"init answers otherwise at {paths}", "its answer is kept; let it depend on nothing but the image"
            )

    async def _ask_init_as_deployster(self) -> None:
        plain = answer.parse_init(_answered(await self._caller.init(seconds=SECONDS["state"], is_deployster=True)))
        if "tinkwell" in plain.document:
            raise Wrong(
                "init answers with tinkwell, though it was told no protocol; Deployster refuses that",
                "answer with tinkwell only where standard input has protocol",
                verdict=Verdict.WARNING,
            )

    async def _check_schema(self) -> None:
        schema = self._init.config_schema
        if schema is None:
            remedy = "answer init with config_schema, so that mistakes are told before anything is changed"
            raise Wrong("any config is taken, mistyped names too", remedy, verdict=Verdict.WARNING)
        try:
            await self._schemas.check("config", schema, None)
        except errors.InvalidField as error:
            raise Wrong(_told(error), "write config_schema as https://json-schema.org has it, Draft 4") from error

    async def _check_config(self) -> None:
        for given in (self._config, self._then):
            self._learn("config", given)
        if self._init.config_schema is None:
            return
        for given in (self._config, self._then):
            try:
                await self._schemas.check("config", self._init.config_schema, given)
            except errors.InvalidField as error:
                raise Wrong(_told(error), "mend the config, or the schema that init answers with") from error

    async def _check_bad_configs(self) -> None:
        schema = self._init.config_schema
        if schema is None:
            raise Wrong("there is no schema", verdict=Verdict.SKIPPED)
        taken = []
        for what, config in bad_config.of(self._config):
            try:
                await self._schemas.check("config", schema, config)
            except errors.InvalidField:
                continue
            taken.append(what)
        if taken:
            remedy = (
                "say in config_schema which fields there are (additionalProperties: false), their types, and required"
            )
            raise Wrong(f"the schema takes {', '.join(taken)}", remedy, verdict=Verdict.WARNING)

    async def _ask_state(self) -> None:
        found = await self._quietly("state")
        if isinstance(found, answer.Valid):
            self._state = found.state
            remedy = (
                "test with a config of what does not exist yet; actions and destroy are not tried on what was there"
            )
            raise Wrong("it is VALID before its actions have run", remedy)
        if found.state is not None:
            remedy = "test with a config of what does not exist yet, or leave staleState out where nothing is there"
            raise Wrong("it has a staleState, so something is there already", remedy)

    async def _ask_state_again(self) -> None:
        before = self._stale
        again = await self._quietly("state")
        if again != before:
            raise Wrong(f"asked twice, state answers otherwise: {_unlike_states(before, again)}", _ONLY_LOOKS)

    async def _act(self) -> None:
        seconds = self._seconds("action")
        for action in self._stale.actions:
            ended = await self._caller.action(action, self._config, self._stale.state, seconds=seconds)
            _check_ended(f"the action {action.name}", ended)

    async def _recheck(self) -> None:
        before, ends_at = self._stale.state, time.monotonic() + self._seconds("ready")
        found = await self._quietly("state")
        while isinstance(found, answer.Stale):
            poll_seconds = self._init.extension.poll_seconds
            if poll_seconds is None or time.monotonic() + poll_seconds > ends_at:
                raise Wrong(recheck.explain(self._config, before, found.state), _REACHES)
            await asyncio.sleep(poll_seconds)
            found = await self._quietly("state")
        self._state = found.state

    async def _ask_valid_again(self) -> None:
        again = await self._quietly("state")
        if not isinstance(again, answer.Valid):
            raise Wrong("asked twice, state is STALE where it was VALID", _ONLY_LOOKS)
        if paths := _unlike(self._state, again.state):
            raise Wrong(f"asked twice, state answers otherwise at {paths}", _ONLY_LOOKS)

    async def _ask_state_as_deployster(self) -> None:
        seconds = self._seconds("state")
        ended = await self._caller.state(self._init.state, self._config, seconds=seconds, is_deployster=True)
        if not isinstance(answer.parse_state(_answered(ended)), answer.Valid):
            raise Wrong(
                "it is STALE where standard input has no protocol", "let state do without what Deployster lacks"
            )

    async def _change(self) -> None:
        assert self._then is not None
        self._config = self._then
        found = await self._quietly("state")
        if isinstance(found, answer.Valid):
            raise Wrong("with another config it is VALID still", "let state compare all that the config asks for")
        await self._act()
        await self._recheck()

    async def _destroy(self) -> None:
        call = self._init.extension.destroy
        if call is None:
            raise Wrong(
                "init answers with no destroy_action: such resources are left in place", verdict=Verdict.SKIPPED
            )
        await self._remove(call, self._state)

    async def _destroy_again(self) -> None:
        assert self._init.extension.destroy is not None
        try:
            await self._remove(self._init.extension.destroy, None)
        except Wrong as error:
            raise Wrong(error.problem, _BEARS) from error

    async def _remove(self, call: answer.Call, state: JsonObject | None) -> None:
        ended = await self._caller.destroy(call, self._config, state, seconds=self._seconds("destroy"))
        _check_ended("destroy", ended)

    async def _ask_absent(self) -> None:
        found = await self._quietly("state")
        if isinstance(found, answer.Valid) or found.state is not None:
            word = "VALID" if isinstance(found, answer.Valid) else "STALE with a staleState"
            raise Wrong(f"after destroy it is {word}", "let destroy remove all that discover finds")

    async def _quietly(self, what: str) -> answer.StateAnswer:
        """Ask for the state, which must change nothing in the plugs; raises `Wrong` where it does."""
        before = folder.look(self._caller.mounts)
        ended = await self._caller.state(self._init.state, self._config, seconds=self._seconds("state"))
        found = answer.parse_state(_answered(ended))
        changes = folder.changes(before, folder.look(self._caller.mounts))
        self._learn("state", found.state)
        if isinstance(found, answer.Stale):
            self._stale = found
        if changes and self._init.extension.read_only_state:
            raise Wrong(f"{what} has changed something: {changes}", _ONLY_LOOKS)
        return found

    def _seconds(self, timeout: str) -> int:
        return self._init.extension.timeouts.get(timeout, SECONDS[timeout])


def _answered(ended: Ended) -> bytes:
    _check_ended("it", ended)
    return ended.answer


def _check_ended(what: str, ended: Ended) -> None:
    if ended.problem:
        remedy = "build that image, or name the folder of images with --process-images" if ended.is_missing else ""
        raise Wrong("\n".join((f"{what} {ended.problem}", *(f"| {line}" for line in ended.lines))), remedy)


def _told(error: errors.InvalidField) -> str:
    return "\n".join(
        f"{each.field}: {each.description}" if each.field else each.description for each in error.violations
    )


def _unlike(one: JsonObject | None, other: JsonObject | None) -> str:
    """List the paths at which two documents differ."""
    paths = dict.fromkeys([*difference(one, other), *difference(other, one)])
    return ", ".join(path or "all of it" for path in paths)


def _unlike_states(before: answer.Stale, again: answer.StateAnswer) -> str:
    if isinstance(again, answer.Valid):
        return "it was STALE, and is VALID"
    if paths := _unlike(before.state, again.state):
        return f"staleState differs at {paths}"
    return f"its actions were {_names(before)}, and are {_names(again)}"


def _names(stale: answer.Stale) -> str:
    return ", ".join(action.name for action in stale.actions)
