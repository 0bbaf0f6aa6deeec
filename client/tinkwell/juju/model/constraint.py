"""`model-constraints`: a model has no constraints."""

from tinkwell.juju.shell import command
from tinkwell.juju.shell.context import Desk


@command.offline("model-constraints", formats=command.YAML_FIRST, has_model=True)
def model_constraints(desk: Desk) -> None:
    """Show the constraints of a model; there are none."""
    desk.show({})
