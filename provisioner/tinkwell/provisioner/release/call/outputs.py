"""The outputs of a release, evaluated once all its resources are ready."""

from tinkwell.client.release import model
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause
from tinkwell.core.release.decision.command import Finish
from tinkwell.core.value import document
from tinkwell.provisioner.release.call.wiring import Wiring
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.prepare import preparation
from tinkwell.provisioner.release.prepare.preparation import Prepared
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.sandbox.errors import SandboxError


async def give_out(
    work: model.Work, prepared: Prepared, expressions: Expressions, secrets: Secrets, *, revision: int
) -> tuple[Finish, str]:
    """Evaluate the outputs of a release; an operation whose outputs cannot be evaluated fails.

    Returns how the operation ends, and its result as JSON text, which is empty if there are no outputs.
    """
    if prepared.manifest is None:
        return Finish(state=State.SUCCEEDED), ""
    names_of = await preparation.names_of(work, prepared.charts, expressions, revision=revision)
    try:
        outputs = await Wiring(expressions, names_of).outputs(prepared.manifest, prepared.resources)
    except (errors.InvalidField, SandboxError) as error:
        why = cause.text(cause.Reason.OUTPUTS_FAILED, secrets.mask(str(error)))
        return Finish(state=State.FAILED, cause=why), ""
    return Finish(state=State.SUCCEEDED), document.dump_json({"outputs": outputs}) if outputs else ""
