"""Templates in Tinkerbell's objects of `kind: Template`, which have the text in `spec.data`."""

from tinkwell.core import errors
from tinkwell.core.value import closed_object, document, kubernetes, parse


def read(value: document.JsonObject) -> tuple[str, str]:
    """Read an object of `kind: Template`: the name of the object, and the text of its template.

    Raises `errors.InvalidField`, with paths in the object. The text is not checked.
    """
    kubernetes.check_kind(value, "Template")
    spec = kubernetes.part(value, "spec")
    for name in spec:
        if name != "data":
            hint = closed_object.nearest(name, ["data"])
            raise errors.InvalidField.of(parse.child("spec", name), f"Tinkerbell's Template has no such field; {hint}")
    text = spec.get("data")
    if not isinstance(text, str) or not text.strip():
        found = "is missing" if text is None else "is empty" if text == "" else f"is {document.describe(text)}"
        raise errors.InvalidField.of("spec.data", f"{found}; it is the text of the template, written below data: |")
    return kubernetes.name_of(value), text


def check_name(name: str) -> None:
    """Refuse the name of an object that cannot be the name of a template, such as one with dots."""
    try:
        parse.parse_name("metadata.name", name)
    except errors.InvalidField as error:
        [violation] = error.violations
        raise errors.InvalidField.of(
            "metadata.name", f"{violation.description}; or give the template another one with --name"
        ) from error
