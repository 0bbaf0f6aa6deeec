"""Makes the calls of one operation: describes each call's container, and reads its answer.

Only this module describes containers of releases, so it checks the rules for all of them: the image policy, the plugs,
the data that an image may see, and that a plan changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinkwell.client.release.model import Operation
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.decision import preview
from tinkwell.core.release.decision.command import StartStep
from tinkwell.core.release.decision.outcome import Outcome
from tinkwell.core.release.decision.view import Answer
from tinkwell.core.release.kinds import NodeTask, OperationKind, ResourceStatus, StepKind
from tinkwell.core.release.protocol import answer
from tinkwell.core.release.protocol.plug import grants_for
from tinkwell.core.release.protocol.request import Caller as Request
from tinkwell.core.value import document
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.release import resource
from tinkwell.provisioner.release.call import recheck
from tinkwell.provisioner.release.call.config import Configs, config_path
from tinkwell.provisioner.release.call.image_policy import ImagePolicy
from tinkwell.provisioner.release.call.plug import Plugs
from tinkwell.provisioner.release.call.step import Permit, Result, StepRun
from tinkwell.provisioner.release.preview.expected import Expected
from tinkwell.provisioner.release.resource import Resource, Resources
from tinkwell.provisioner.release.schema.check import WrongConfig
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.runtime import port
from tinkwell.sandbox import errors as sandbox

# All actions of a resource are reported in one request, and the server takes at most 500 reports in a request.
MAX_ACTIONS = 400


class OnlyLooks(Exception):
    """The caller asked for a call with effects in a plan, which is a defect."""

    def __init__(self, kind: StepKind) -> None:
        super().__init__(f"a plan makes no call of kind {kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Makes the calls of one operation's resources. `plugs_of` finds the plugs of a resource's manifest."""

    operation: Operation
    resources: Resources
    configs: Configs
    images: ImagePolicy
    plugs_of: Callable[[Resource], Plugs]
    runtime: port.Runtime
    secrets: Secrets
    # Images that the engine is known to have.
    fetched: set[str] = field(default_factory=set)
    # The plan that the operation applies; None if it applies no plan.
    expected: Expected | None = None

    async def call(self, run: StepRun, command: StartStep, permit: Permit) -> Outcome:
        """Make a call, and return its outcome; `permit` is awaited right before the container starts."""
        outcome = await self._call(run, command, permit)
        # Secrets are masked before the message is shortened for storage, which could cut a secret in two.
        return replace(outcome, message=self.secrets.mask(outcome.message))

    async def _call(self, run: StepRun, command: StartStep, permit: Permit) -> Outcome:
        known = self.resources[command.step.path]
        try:
            if command.kind is StepKind.STATE:
                known.config = await self.configs.resolve(known, self.resources)
                texts = await self.secrets.learn(config_path(known), known.config, known.sensitive)
                known.texts = texts if known.is_hook else known.texts
            spec = self._describe(known, run.key, command)
        except (errors.InvalidField, sandbox.SandboxError) as error:
            return Outcome(state=State.FAILED, message=_explain(error, known))
        result = await run.start(
            spec,
            timeout_seconds=command.timeout_seconds,
            permit=permit,
            is_fetched=spec.image in self.fetched,
        )
        if result.exit_code is not None:
            self.fetched.add(spec.image)
        if result.state is not State.SUCCEEDED:
            return _ended(result)
        try:
            return await self._read(known, command.kind, result)
        except answer.WrongAnswer as error:
            return Outcome(state=State.FAILED, exit_code=result.exit_code, message=error.tell(self.secrets.mask))
        except (errors.InvalidField, sandbox.SandboxError) as error:
            return Outcome(state=State.FAILED, exit_code=result.exit_code, message=_explain(error, known))

    def _describe(self, known: Resource, key: RunKey, command: StartStep) -> port.RunSpec:
        """Describe a call's container.

        Raises `errors.InvalidField` for an image or a plug that it may not use, and `OnlyLooks` for a call that a plan
        does not make.
        """
        if self._only_looks and command.kind not in preview.CALLS:
            raise OnlyLooks(command.kind)
        call, has_answer = command.call, not command.kind.has_effects
        image = call.image or known.type
        self.images.check("image", image)
        mounts = self._mounts(known, image) if command.kind is not StepKind.INIT else {}
        return port.RunSpec(
            key=key,
            image=image,
            entrypoint=call.entrypoint,
            command=call.args,
            environment=tuple(
                f"TINKWELL_PLUG_{name.upper().replace('-', '_')}={self.runtime.seen_at(mount)}"
                for name, mount in mounts.items()
            ),
            mounts=tuple(mounts.values()),
            workdir=self.runtime.workspace(key),
            labels={"operation": self.operation.id, "release_name": self.operation.release_name, "path": known.path},
            stdin=self._input(known, key, command.kind),
            answer_bytes=answer.MAX_ANSWER_BYTES if has_answer else 0,
            files=known.files,
        )

    def _mounts(self, known: Resource, image: str) -> Mapping[str, port.Mount]:
        """Return the mounts of a container's plugs, by plug name."""
        if known.init is None or not known.init.plugs:
            return {}
        plugs = self.plugs_of(known)
        granted = plugs.grant(known.own_path, known.type, known.init.plugs)
        mounts = plugs.mounts(grants_for(image, known.type, granted.grants))
        return {name: replace(mount, read_only=mount.read_only or self._only_looks) for name, mount in mounts.items()}

    @property
    def _only_looks(self) -> bool:
        """Whether the operation is a plan, which changes nothing, so that every plug is read-only."""
        return self.operation.kind is OperationKind.PLAN

    def _input(self, known: Resource, key: RunKey, kind: StepKind) -> bytes:
        options = self.operation.options
        request = Request(
            name=known.own_path,
            type=known.type,
            chart_path=known.chart,
            workspace=self.runtime.workspace(key),
            release=self.operation.release_name,
            operation_id=self.operation.id,
            verbose=options is not None and options.verbose,
        )
        match kind:
            case StepKind.INIT:
                return request.init()
            case StepKind.STATE | StepKind.RECHECK:
                return request.state(known.config)
            case StepKind.ACTION:
                return request.action(known.config, known.stale_state)
            case StepKind.DESTROY:
                return request.destroy(known.config, known.state)

    async def _read(self, known: Resource, kind: StepKind, result: Result) -> Outcome:
        """Read the answer of a call that succeeded; raises `answer.WrongAnswer` and `errors.InvalidField`."""
        match kind:
            case StepKind.INIT:
                return await self._read_init(known, result)
            case StepKind.STATE | StepKind.RECHECK:
                return await self._read_state(known, kind, result)
            case StepKind.ACTION | StepKind.DESTROY:
                return _ended(result)

    async def _read_init(self, known: Resource, result: Result) -> Outcome:
        init = answer.parse_init(result.answer)
        warnings = await self.check_init(known, init)
        known.init = init
        if known.rendered is not None:
            await self.secrets.learn_configs({known.path: known.rendered}, {known.path: known.sensitive})
        return Outcome(
            state=State.SUCCEEDED,
            exit_code=result.exit_code,
            message="; ".join(warnings),
            init=resource.facts_of(init),
            init_text=document.dump_json(init.document),
            # After a change of owner the resource has no image id, so the id is taken from the result.
            image_id=result.image_id or known.image_id,
            sensitive=known.sensitive,
        )

    async def check_init(self, known: Resource, init: answer.InitAnswer) -> Sequence[str]:
        """Check an answer to `init` before the operation changes anything; raises `errors.InvalidField`.

        Returns a sentence for each optional plug that the resource does not get.
        """
        for call in (init.state, init.extension.destroy):
            if call is not None:
                self._check_call(f"{call.name}_action", call)
        warnings: Sequence[str] = ()
        if init.plugs:
            warnings = self.plugs_of(known).grant(known.own_path, known.type, init.plugs).warnings
        if known.task is NodeTask.INSTALL or known.is_hook:
            await self.configs.check(known, init)
        return warnings

    def _check_call(self, field: str, call: answer.Call) -> None:
        """Check the image and the entrypoint of a call that an answer asks for, but not the call's arguments."""
        if call.image:
            self.images.check(f"{field}.image", call.image)
        self.secrets.check_shown(f"{field}.image", call.image)
        self.secrets.check_shown(f"{field}.entrypoint", call.entrypoint)

    async def _read_state(self, known: Resource, kind: StepKind, result: Result) -> Outcome:
        found = answer.parse_state(result.answer)
        if isinstance(found, answer.Valid):
            texts = await self.secrets.learn("state", found.state, known.sensitive)
            known.state = found.state
            told = Answer(status=ResourceStatus.VALID, has_state=True)
            given = texts if known.is_hook else frozenset[str]()
            return self._told(known, result, told, state=document.dump_json(found.state), secrets=given)
        if len(found.actions) > MAX_ACTIONS:
            message = f"lists {len(found.actions):,} actions; at most {MAX_ACTIONS:,} are allowed"
            raise errors.InvalidField.of("actions", message)
        # A stale state is not stored, but arguments of actions may contain parts of it.
        texts = await self.secrets.learn("staleState", found.state, known.sensitive)
        for index, action in enumerate(found.actions):
            self._check_call(f"actions[{index}]", action)
        message = ""
        if kind is StepKind.RECHECK:
            message = recheck.explain(known.config, known.stale_state, found.state)
        else:
            known.stale_state = found.state
        actions = tuple(map(resource.call_of, found.actions))
        # A plan lists no actions of hooks, which run in any case.
        if kind is StepKind.STATE and self.expected is not None and not known.is_hook:
            self.expected.check_actions(known.path, actions)
        told = Answer(status=ResourceStatus.STALE, has_state=found.state is not None, actions=actions)
        return self._told(known, result, told, message=message, secrets=texts)

    def _told(
        self,
        known: Resource,
        result: Result,
        told: Answer,
        *,
        message: str = "",
        state: str | None = None,
        secrets: frozenset[str] = frozenset(),
    ) -> Outcome:
        return Outcome(
            state=State.SUCCEEDED,
            exit_code=result.exit_code,
            message=message,
            answer=told,
            config=document.dump_json(known.config),
            resource_state=state,
            sensitive=known.sensitive,
            secrets=tuple(sorted(secrets | known.texts)),
        )


def _explain(error: Exception, known: Resource) -> str:
    """Return the message for a call that fails although its container did not."""
    return report.wrong_config(known.type, str(error)) if isinstance(error, WrongConfig) else str(error)


def _ended(result: Result) -> Outcome:
    return Outcome(state=result.state, exit_code=result.exit_code, message=result.message)
