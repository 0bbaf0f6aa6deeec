"""The files that actions of a workflow leave for each other, and when they go."""

import logging
from pathlib import Path
from typing import Protocol

from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.agent import reboot
from tinkwell.provisioner.lease import run_claim

logger = logging.getLogger(__name__)


class Files(reboot.Notes, Protocol):
    """The files that actions of a workflow leave for each other."""

    def workflow_dir(self, workflow_id: str, worker_id: str) -> Path:
        """Return where a workflow's files on a worker are; it need not exist."""

    def bring_document(self, workflow_id: str, worker_id: str, *, content: bytes | None) -> None:
        """Write the document that the workflow's actions share; with None see that there is one. Raises `OSError`."""

    def document_size(self, workflow_id: str, worker_id: str) -> int | None:
        """Return how large the document is, None where nothing has its name; raises `OSError`. It is quick."""

    def read_document(self, workflow_id: str, worker_id: str, *, max_bytes: int) -> bytes | None:
        """Return the document, None for none; of a larger one a byte more than `max_bytes`. Raises `OSError`."""

    def workflows(self) -> list[str]:
        """Return the ids of all workflows that have files here."""

    def forget_workflow(self, workflow_id: str) -> None:
        """Remove a workflow's files."""


def forget(files: Files, claims: run_claim.Claims, workflow_id: str) -> None:
    """Remove a workflow's files, unless somebody else still runs something of it; who does will see to them."""
    try:
        is_claimed = bool(claims.others(RunKind.WORKFLOW, workflow_id))
    except OSError as error:
        logger.warning("the files of a workflow are kept", extra={"workflow": workflow_id, "cause": str(error)})
        return
    if not is_claimed:
        files.forget_workflow(workflow_id)
