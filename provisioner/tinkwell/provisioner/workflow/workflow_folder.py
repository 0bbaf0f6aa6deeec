"""The files that actions of a workflow leave for each other, and their removal."""

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
        """Return the folder of a workflow's files on a worker; it need not exist."""

    def bring_document(self, workflow_id: str, worker_id: str, *, content: bytes | None) -> None:
        """Write the document that the workflow's actions share; None writes an empty one if there is none.

        Raises `OSError`.
        """

    def document_size(self, workflow_id: str, worker_id: str) -> int | None:
        """Return the size of the document in bytes, None if there is no such file; raises `OSError`. It is quick."""

    def read_document(self, workflow_id: str, worker_id: str, *, max_bytes: int) -> bytes | None:
        """Return the document, None if there is none; only the first `max_bytes` + 1 bytes of it if it is larger.

        Raises `OSError`.
        """

    def workflows(self) -> list[str]:
        """Return the ids of all workflows that have files here."""

    def forget_workflow(self, workflow_id: str) -> None:
        """Remove a workflow's files."""


def forget(files: Files, claims: run_claim.Claims, workflow_id: str) -> None:
    """Remove a workflow's files, unless another provisioner here claims a run of it: that one will remove them."""
    try:
        is_claimed = bool(claims.others(RunKind.WORKFLOW, workflow_id))
    except OSError as error:
        logger.warning(
            "the claims of a workflow's runs cannot be read; the files of the workflow are kept",
            extra={"workflow": workflow_id, "cause": str(error)},
        )
        return
    if not is_claimed:
        files.forget_workflow(workflow_id)
