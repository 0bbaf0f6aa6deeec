"""Calls a Docker Engine from asyncio, through the `docker` SDK, which blocks.

Theory of operation. Short calls go through one bounded pool of threads. Streams, which need a thread as long as they
are read, go through another, so that a kill never waits behind a quiet log. A short call has the SDK's time limit. A
stream has that limit up to its headers; after them it may be silent. When its reader is cancelled, the socket is shut
down, and the reading thread ends. So no thread outlives its reader by more than a short call. The one exception is a
pull, whose headers come only when the registry has answered: it has its own thread, which is abandoned if the caller is
cancelled.

The SDK's errors are translated here:

EngineError
├── Unreachable        no engine answers
└── Refused            the engine says no
    └── Gone           there is no such container or image
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import docker
import requests
import urllib3
from docker import utils

from tinkwell.client import backoff
from tinkwell.provisioner.runtime import abandonable_thread
from tinkwell.provisioner.runtime.docker import attachment, inspection, setting, stream
from tinkwell.provisioner.runtime.docker.connection import adapter, connection

logger = logging.getLogger(__name__)
T = TypeVar("T")

CALL_SECONDS = 20
CONNECT_SECONDS = 5.0
# How long a call is tried again while the engine does not answer, for example during its restart.
PATIENCE_SECONDS = 30.0
# How long a pull may be silent: an engine sends nothing while it waits for a slow registry.
PULL_SILENCE_SECONDS = 300.0
NO_ANSWER = "the registry does not answer"
MAX_PROGRESS_BYTES = 1024 * 1024
SHORT_CALLS = 8
NOT_FOUND, CONFLICT = 404, 409


class EngineError(Exception):
    """The engine did not do what it was asked."""


class Unreachable(EngineError):
    """No engine answers."""


class Refused(EngineError):
    """The engine says no, with an HTTP status and a reason for people."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Gone(Refused):
    """There is no such container or image."""


class Engine:
    """One engine. `streams` bounds how many streams are read at once."""

    def __init__(self, client: docker.APIClient, short: ThreadPoolExecutor, streams: int) -> None:
        self._client = client
        self._short = short
        self._long = ThreadPoolExecutor(streams, "docker-stream")
        self._pulls = abandonable_thread.AbandonableThreads(streams, "docker-pull")
        self._attachments: set[attachment.Attachment] = set()

    @classmethod
    async def connect(
        cls,
        *,
        streams: int,
        answer_seconds: int = CALL_SECONDS,
        settings: setting.DockerSettings | None = None,
    ) -> Self:
        """Find the engine that the settings or the environment name (`DOCKER_HOST` …); raises `Unreachable`."""
        short = ThreadPoolExecutor(SHORT_CALLS, "docker-call")
        chosen = settings or setting.DockerSettings()
        opened: list[docker.APIClient] = []

        def open_client() -> docker.APIClient:
            client = connection.open_client(chosen, connections=SHORT_CALLS + streams, answer_seconds=answer_seconds)
            opened.append(client)
            client.timeout = CALL_SECONDS
            return client

        try:
            client = await abandonable_thread.run(short, lambda: _translated(open_client))
        except BaseException:
            short.shutdown(wait=False)
            for client in opened:  # the engine has answered while the caller was cancelled
                client.close()
            raise
        return cls(client, short, streams)

    def close(self) -> None:
        """Stop threads and close connections; containers get no more input."""
        for attached in list(self._attachments):
            attached.cut()
        self._short.shutdown(wait=False, cancel_futures=True)
        self._long.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    @property
    def is_local(self) -> bool:
        """Whether the engine is reached by a Unix socket of this machine."""
        return connection.is_local(self._client)

    async def identity(self) -> str:
        """Return the id that the engine has given itself."""
        found: Mapping[str, Any] = await self._call(self._client.info)
        return str(found.get("ID", ""))

    async def image_id(self, image: str) -> str:
        """Return the digest of an image that the engine has; raises `Gone`."""
        found: Mapping[str, Any] = await self._call(lambda: self._client.inspect_image(image))  # type: ignore[no-untyped-call]
        return str(found["Id"])

    async def pull(self, image: str, *, auth_header: str | None = None) -> None:
        """Pull an image from its registry.

        Raises `Refused` for an error of the engine or the registry, also one that comes in the middle of the progress,
        and if the registry is silent for too long.
        """
        repository, tag = utils.parse_repository_tag(image)
        answer = await self._open_pull(
            {"fromImage": repository, "tag": tag or "latest"}, {"X-Registry-Auth": auth_header} if auth_header else {}
        )
        progress = bytearray()
        try:
            async with contextlib.aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    progress += chunk
                    _check_progress(progress)
        except stream.BrokenStreamError as error:
            raise Refused(0, f"the pull broke off: {error}") from error
        progress += b"\n"  # The last line may have no newline.
        _check_progress(progress)

    async def _open_pull(self, params: Mapping[str, str], headers: Mapping[str, str]) -> stream.Stream:
        """Begin a pull; the engine sends the headers of its answer when the registry has answered."""

        def request() -> requests.Response:
            return self._request(
                "POST", "/images/create", params=params, headers=headers, answer_seconds=PULL_SILENCE_SECONDS
            )

        try:
            response = await self._pulls.run(lambda: _translated(request), release=requests.Response.close)
        except Unreachable as error:
            if isinstance(error.__cause__, requests.ReadTimeout):
                raise Refused(0, f"{NO_ANSWER} within {PULL_SILENCE_SECONDS:.0f} s") from error
            raise
        except OSError as error:
            raise Refused(0, str(error)) from error
        return stream.Stream(response, self._long, PULL_SILENCE_SECONDS)

    async def create(
        self,
        *,
        name: str,
        image: str,
        entrypoint: str = "",
        command: Sequence[str],
        environment: Mapping[str, str],
        labels: Mapping[str, str],
        host: Mapping[str, Any],
        workdir: str = "",
        takes_input: bool = False,
    ) -> str:
        """Create a container and return its id; raises `Refused` with CONFLICT if the name is taken.

        A container that `takes_input` reads it from the first attachment only, and its input ends with that attachment.
        """

        def create() -> str:
            created = self._client.create_container(
                image,
                list(command) or None,
                name=name,
                entrypoint=[entrypoint] if entrypoint else None,
                stdin_open=takes_input,
                working_dir=workdir or None,
                environment=[f"{key}={value}" for key, value in environment.items()],
                labels=dict(labels),
                host_config=self._client.create_host_config(**host),
                use_config_proxy=False,
            )
            return str(created["Id"])

        return await self._call(create)

    async def put(self, container: str, folder: str, archive: bytes) -> None:
        """Unpack a tar archive in a folder of a container, started or not; the folder must exist."""
        await self._call(lambda: self._client.put_archive(container, folder, archive))

    async def start(self, container: str) -> None:
        """Start a container, if it does not run already."""
        await self._call(lambda: self._client.start(container))

    async def inspect(self, container: str) -> inspection.Container:
        """Describe a container, by id or name."""
        return inspection.read(await self._call(lambda: self._client.inspect_container(container)))

    async def labels_of_all(self, *, labels: Sequence[str]) -> list[Mapping[str, str]]:
        """Return the labels of every container, in any state, that has all the given labels."""
        found = await self._call(lambda: self._client.containers(all=True, filters={"label": list(labels)}))
        return [entry["Labels"] or {} for entry in found]

    async def kill(self, container: str) -> None:
        """Kill a container, if it runs."""
        with accepting(NOT_FOUND, CONFLICT):
            await self._call(lambda: self._client.kill(container))

    async def remove(self, container: str) -> None:
        """Remove a container, running or not, with its anonymous volumes, if it exists."""
        with accepting(NOT_FOUND, CONFLICT):
            await self._call(lambda: self._client.remove_container(container, v=True, force=True))

    async def wait(self, container: str, *, at_most_seconds: float) -> None:
        """Return when a container has ended, or when the time is over or the wait fails; `inspect` tells which."""
        with contextlib.suppress(EngineError, stream.BrokenStreamError):
            answer = await self._open("POST", f"/containers/{container}/wait", silence_seconds=at_most_seconds)
            async with contextlib.aclosing(answer.chunks()) as chunks:
                async for _ in chunks:
                    pass

    async def logs(self, container: str, *, follow: bool) -> stream.Stream:
        """Open a container's output as stamped frames: what is written so far or, with `follow`, all to its end."""
        params = {"follow": int(follow), "stdout": 1, "stderr": 1, "timestamps": 1}
        return await self._open("GET", f"/containers/{container}/logs", params=params)

    async def attach(self, container: str, *, streams: Sequence[str], with_log: bool = False) -> attachment.Attachment:
        """Attach to streams (stdin, stdout, stderr) of a container; with `with_log`, the output so far comes first."""
        params = dict.fromkeys(("stream", *(["logs"] if with_log else []), *streams), 1)
        headers = {"Connection": "Upgrade", "Upgrade": "tcp"}
        path = f"/containers/{container}/attach"
        response = await self._call(lambda: self._request("POST", path, params=params, headers=headers))
        if response.status_code != requests.codes.switching_protocols:
            response.close()
            raise Refused(response.status_code, "the engine does not attach the connection to the container")
        attached = attachment.Attachment(response, on_closed=self._attachments.discard)
        self._attachments.add(attached)
        return attached

    def beside(self, work: Callable[[], None]) -> None:
        """Do the work of an attachment in a thread."""

        def guarded() -> None:
            try:
                work()
            except Exception:  # The thread's outermost frame.
                logger.exception("an unexpected error has ended the reading or writing of a container's attachment")

        self._long.submit(guarded)

    def kill_soon(self, container: str) -> None:
        """Kill a container without waiting: the engine answers only when the calling thread has read all output."""

        def kill() -> None:
            try:
                with accepting(NOT_FOUND, CONFLICT):
                    _translated(lambda: self._client.kill(container))
            except EngineError as error:
                logger.warning(
                    "a container whose answer is too long could not be killed; it runs on until its deadline",
                    extra={"container": container, "cause": str(error)},
                )

        with contextlib.suppress(RuntimeError):  # The engine was closed, and has no threads.
            self._short.submit(kill)

    async def _open(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        silence_seconds: float | None = None,
    ) -> stream.Stream:
        """Make a request whose answer is read as it comes."""
        response = await self._call(lambda: self._request(method, path, params=params))
        return stream.Stream(response, self._long, silence_seconds)

    def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        answer_seconds: float = CALL_SECONDS,
    ) -> requests.Response:
        """Make a request up to its answer's headers. The SDK's own method for logs would mix stdout and stderr."""
        url = f"{self._client.base_url}/v{self._client.api_version}{path}"
        timeout = (CONNECT_SECONDS, answer_seconds)
        response = self._client.request(method, url, params=params, headers=headers, stream=True, timeout=timeout)
        if response.status_code >= requests.codes.bad_request:
            raise _refusal(response.status_code, _explanation(response))
        return response

    async def _call(self, function: Callable[[], T]) -> T:
        """Make a short call, and repeat it for up to `PATIENCE_SECONDS` while no engine answers."""
        pause = backoff.Backoff(first_seconds=0.1, longest_seconds=3.0)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while True:
            try:
                return await abandonable_thread.run(self._short, lambda: _translated(function))
            except Unreachable:
                delay = pause.next_seconds()
                if loop.time() + delay > deadline:
                    raise
            await asyncio.sleep(delay)


@contextlib.contextmanager
def accepting(*statuses: int) -> Iterator[None]:
    """Ignore a refusal with one of these statuses, which means that there was nothing to do."""
    try:
        yield
    except Refused as error:
        if error.status not in statuses:
            raise


def _translated(function: Callable[[], T]) -> T:
    """Call a function, and translate the errors of the SDK."""
    try:
        return function()
    except docker.errors.APIError as error:
        status = 0 if error.response is None else error.response.status_code
        raise _refusal(status, str(error.explanation or error)) from error
    except docker.errors.DockerException as error:
        # The SDK raises this if it fails to ask for the engine's version.
        raise Unreachable(str(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, adapter.NotReached, OSError) as error:
        raise Unreachable(str(error)) from error


def _refusal(status: int, message: str) -> Refused:
    return Gone(status, message) if status == NOT_FOUND else Refused(status, message)


def _explanation(response: requests.Response) -> str:
    """Return the engine's message from the body of an error."""
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text


def _check_progress(progress: bytearray) -> None:
    """Remove the complete lines of a pull's progress; raises `Refused` if one of them is an error."""
    *lines, rest = progress.split(b"\n")
    if len(rest) > MAX_PROGRESS_BYTES:
        raise Refused(0, "the engine's progress of the pull has a line that is too long")
    progress[:] = rest
    for line in filter(bytes.strip, map(bytes, lines)):
        try:
            message = json.loads(line).get("error")
        except (ValueError, AttributeError) as error:
            raise Refused(0, f"the engine's progress of the pull is no JSON object: {line[:200]!r}") from error
        if message:
            raise Refused(0, str(message))
