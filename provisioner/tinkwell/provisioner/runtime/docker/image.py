"""Provides images on the engine by the pull policy, with errors that tell a user what to do if a pull fails."""

import asyncio
import contextlib
import logging
from enum import Enum, auto
from typing import assert_never

from tinkwell.core.process_log import redaction
from tinkwell.core.value.image import qualified, registry_of
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import credential, engine, setting

logger = logging.getLogger(__name__)

# At most this much of a registry's answer, which may be a whole page, is put before the advice in an action's message.
MAX_SAID_CHARACTERS = 500


class Fault(Enum):
    """Why a pull failed, which decides the advice."""

    NETWORK = auto()
    DENIED = auto()
    UNKNOWN_IMAGE = auto()
    OTHER = auto()


# Engines have no codes for these faults; only the words of the message tell them apart. The order counts, because
# engines say "repository does not exist or may require 'docker login': denied".
_WORDS = {
    Fault.DENIED: ("unauthorized", "access denied", "denied:", "no basic auth", "authentication required", "forbidden"),
    Fault.UNKNOWN_IMAGE: ("not found", "manifest unknown", "name unknown", "does not exist"),
    Fault.NETWORK: (
        *("no such host", "connection refused", "connection reset", "network is unreachable", "no route to host"),
        *("i/o timeout", "timeout exceeded", "handshake timeout", "deadline exceeded", "server misbehaving", ": eof"),
        engine.NO_ANSWER,
    ),
}


class ImageSource:
    """Provides images by the settings' pull policy. All methods raise `port.RunError`."""

    def __init__(self, found: engine.Engine, settings: setting.DockerSettings) -> None:
        self._engine = found
        self._settings = settings

    async def prepare(self, image: str) -> str:
        """Return the name to create a container from. With the policy ALWAYS, pull the image first.

        It does not check that the engine has the image: creating the container tells.
        """
        name = qualified(image, self._settings.registry)
        if self._settings.pull is setting.PullPolicy.ALWAYS:
            try:
                await self._pull(name)
            except engine.Refused as error:
                raise _image_error(f"the image {name} cannot be pulled", name, error) from error
        return name

    async def provide(self, image: str) -> str:
        """Pull an image that the engine does not have, if the policy allows it, and return its name on the engine."""
        name = qualified(image, self._settings.registry)
        match self._settings.pull:
            case setting.PullPolicy.NEVER:
                message = (
                    f"the image {name} is not on the engine, and the pull policy is never: load it there (docker pull, "
                    "docker load), or choose the policy missing"
                )
                raise port.RunError(port.Reason.IMAGE, message)
            case setting.PullPolicy.ALWAYS:
                raise port.RunError(port.Reason.IMAGE, f"the image {name} was removed from the engine after its pull")
            case setting.PullPolicy.MISSING:
                return await self._fetch(image, name)
            case _:
                assert_never(self._settings.pull)

    async def identify(self, image: str) -> str:
        """Return the digest of an image, which is pulled first if the policy says so."""
        name = await self.prepare(image)
        try:
            return await self._engine.image_id(name)
        except engine.Gone:
            name = await self.provide(image)
        try:
            return await self._engine.image_id(name)
        except engine.Gone as error:
            raise vanished(name, error) from error

    async def _fetch(self, image: str, name: str) -> str:
        try:
            await self._pull(name)
        except engine.Refused as error:
            if fault_of(str(error)) is Fault.NETWORK and (found := await self._find_local(name, image)):
                logger.warning(
                    "a local image is used, because its registry does not answer; it may be out of date",
                    extra={"image": found},
                )
                return found
            raise _image_error(f"the image {name} is not on the engine and cannot be pulled", name, error) from error
        return name

    async def _find_local(self, *names: str) -> str:
        """Return the first of these names that the engine has: the image may have been loaded by hand meanwhile."""
        for name in names:
            with contextlib.suppress(engine.Gone):
                await self._engine.image_id(name)
                return name
        return ""

    async def _pull(self, name: str) -> None:
        registry = registry_of(name)
        try:
            header = await asyncio.to_thread(credential.header, self._settings, registry)
        except credential.CredentialError as error:
            message = f"the image {name} cannot be pulled: the credentials for {registry} cannot be read: {error}"
            raise port.RunError(port.Reason.IMAGE, message) from error
        logger.info("an image is pulled", extra={"image": name, "is_logged_in": header is not None})
        await self._engine.pull(name, auth_header=header)


def vanished(name: str, error: engine.Gone) -> port.RunError:
    """Make the error for an image that was removed from the engine right after it was provided."""
    message = f"the engine does not have the image {name}, though it has just been provided: {error}"
    return port.RunError(port.Reason.IMAGE, message)


def fault_of(message: str) -> Fault:
    """Return why a pull failed, judged by the words of the engine's message."""
    said = message.lower()
    return next((fault for fault, words in _WORDS.items() if any(word in said for word in words)), Fault.OTHER)


def _image_error(what: str, name: str, error: engine.Refused) -> port.RunError:
    registry = registry_of(name)
    match fault_of(str(error)):
        case Fault.NETWORK:
            advice = f"; is {registry} reachable from the engine's machine?"
        case Fault.DENIED:
            advice = f"; does it exist, and may this provisioner pull it? Credentials for {registry} come from "
            advice += "--docker-registry-user and its password, or from a config.json that docker login writes"
        case Fault.UNKNOWN_IMAGE:
            advice = f"; does {registry} have it, with this tag?"
        case _:
            advice = ""
    # Everybody who may see the workflow can read the message, and a registry may repeat credentials in it.
    said = redaction.redact(str(error).strip())[:MAX_SAID_CHARACTERS]
    return port.RunError(port.Reason.IMAGE, f"{what}: {said}{advice}")
