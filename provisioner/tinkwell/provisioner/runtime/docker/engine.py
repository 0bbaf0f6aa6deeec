"""A Docker Engine, asked from asyncio through the `docker` SDK, which blocks.

Theory of operation. Calls that answer at once go through one bounded pool of threads; streams, which hold a thread for
as long as they are read, go through another, so that a kill never waits behind a quiet log. A short call has the SDK's
time limit. A stream has it up to its headers; then it may be silent, and whoever reads it can be cancelled, which takes
the socket away under the reading thread. So no thread outlives its owner by more than a short call. The one exception
is a pull, which has no headers before a registry has answered: it has a thread of its own, and is left alone with it.

What the SDK raises ends here:

EngineError
├── Unreachable        no engine answers
└── Refused            the engine says no
    └── Gone           there is no such container or image
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeVar

import docker
import requests
import urllib3
from docker import utils

from tinkwell.client import backoff
from tinkwell.provisioner.runtime import abandonable_thread
from tinkwell.provisioner.runtime.docker import adapter, connection, setting, stream

T = TypeVar("T")

CALL_SECONDS = 20
CONNECT_SECONDS = 5.0
# While the engine does not answer, such as during its restart, calls are tried again for so long.
PATIENCE_SECONDS = 30.0
# An engine says nothing while it waits for a slow registry.
PULL_SILENCE_SECONDS = 300.0
NO_ANSWER = "the registry does not answer"
MAX_PROGRESS_BYTES = 1024 * 1024
SHORT_CALLS = 8
NOT_FOUND, CONFLICT = 404, 409
_NEVER = "0001-01-01"
RUNNING = frozenset({"running", "paused", "restarting"})
OVER = frozenset({"exited", "dead", "removing"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container as the engine describes it. `seconds` is how long it ran by the engine's clock, once it has ended."""

    id: str
    status: str
    labels: Mapping[str, str]
    was_started: bool
    exit_code: int
    seconds: float | None
    note: str

    @property
    def is_over(self) -> bool:
        """Whether it ran and has ended; one that never ran has an exit code, too, and it means nothing."""
        return self.was_started and self.status in OVER

    @property
    def is_running(self) -> bool:
        """Whether it can be killed; one that was never started is neither running nor over."""
        return self.status in RUNNING


class Engine:
    """One engine. `streams` bounds how many streams are read at once."""

    def __init__(self, client: docker.APIClient, short: ThreadPoolExecutor, streams: int) -> None:
        self._client = client
        self._short = short
        self._long = ThreadPoolExecutor(streams, "docker-stream")
        self._pulls = abandonable_thread.AbandonableThreads(streams, "docker-pull")

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
        """Let go of threads and connections."""
        self._short.shutdown(wait=False, cancel_futures=True)
        self._long.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    async def identity(self) -> str:
        """Return the id that the engine has given itself."""
        found: Mapping[str, Any] = await self._call(self._client.info)
        return str(found.get("ID", ""))

    async def has_image(self, image: str) -> bool:
        """Say whether the engine has an image."""
        try:
            await self._call(lambda: self._client.inspect_image(image))  # type: ignore[no-untyped-call]
        except Gone:
            return False
        return True

    async def pull(self, image: str, *, auth_header: str | None = None) -> None:
        """Fetch an image from its registry; the engine may fail in the middle of an answer that began well.

        Raises `Refused` for whatever the engine or the registry says, and when the registry says nothing for long.
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
        progress += b"\n"  # the last line may lack its end
        _check_progress(progress)

    async def _open_pull(self, params: Mapping[str, str], headers: Mapping[str, str]) -> stream.Stream:
        """Begin a pull, which the engine answers as soon as the registry has answered it."""

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
        command: Sequence[str],
        environment: Mapping[str, str],
        labels: Mapping[str, str],
        host: Mapping[str, Any],
    ) -> str:
        """Create a container and return its id; raises `Refused` with CONFLICT where the name is taken."""

        def create() -> str:
            created = self._client.create_container(
                image,
                list(command) or None,
                name=name,
                environment=[f"{key}={value}" for key, value in environment.items()],
                labels=dict(labels),
                host_config=self._client.create_host_config(**host),
                use_config_proxy=False,
            )
            return str(created["Id"])

        return await self._call(create)

    async def start(self, container: str) -> None:
        """Start a container; one that runs already is fine."""
        await self._call(lambda: self._client.start(container))

    async def inspect(self, container: str) -> Container:
        """Describe a container, by id or name."""
        return _read_container(await self._call(lambda: self._client.inspect_container(container)))

    async def labels_of_all(self, *, labels: Sequence[str]) -> list[Mapping[str, str]]:
        """Return the labels of every container, in whatever state, that carries all the given ones."""
        found = await self._call(lambda: self._client.containers(all=True, filters={"label": list(labels)}))
        return [entry["Labels"] or {} for entry in found]

    async def kill(self, container: str) -> None:
        """Kill a container; one that does not run is fine."""
        with accepting(NOT_FOUND, CONFLICT):
            await self._call(lambda: self._client.kill(container))

    async def remove(self, container: str) -> None:
        """Remove a container, running or not, with its anonymous volumes; one that is not there is fine."""
        with accepting(NOT_FOUND, CONFLICT):
            await self._call(lambda: self._client.remove_container(container, v=True, force=True))

    async def wait(self, container: str, *, at_most_seconds: float) -> None:
        """Return when a container does not run any more, or after a while; `inspect` tells which."""
        with contextlib.suppress(EngineError, stream.BrokenStreamError):
            answer = await self._open("POST", f"/containers/{container}/wait", silence_seconds=at_most_seconds)
            async with contextlib.aclosing(answer.chunks()) as chunks:
                async for _ in chunks:
                    pass

    async def logs(self, container: str, *, follow: bool) -> stream.Stream:
        """Open the stamped frames of a container's output, to what is there now, or, with `follow`, to the end."""
        params = {"follow": int(follow), "stdout": 1, "stderr": 1, "timestamps": 1}
        return await self._open("GET", f"/containers/{container}/logs", params=params)

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
        """Make a request up to its answer's headers; the SDK's own log stream mixes stdout and stderr."""
        url = f"{self._client.base_url}/v{self._client.api_version}{path}"
        timeout = (CONNECT_SECONDS, answer_seconds)
        response = self._client.request(method, url, params=params, headers=headers, stream=True, timeout=timeout)
        if response.status_code >= requests.codes.bad_request:
            raise _refusal(response.status_code, _explanation(response))
        return response

    async def _call(self, function: Callable[[], T]) -> T:
        """Make a short call, again and again for a while where no engine answers."""
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
    """Take a refusal with one of these statuses for success: what was asked for is so already."""
    try:
        yield
    except Refused as error:
        if error.status not in statuses:
            raise


def _translated(function: Callable[[], T]) -> T:
    """Call, and raise what the SDK raises as an error of ours."""
    try:
        return function()
    except docker.errors.APIError as error:
        status = 0 if error.response is None else error.response.status_code
        raise _refusal(status, str(error.explanation or error)) from error
    except docker.errors.DockerException as error:
        # The SDK wraps what happens to it while it asks for the engine's version.
        raise Unreachable(str(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, adapter.NotReached, OSError) as error:
        raise Unreachable(str(error)) from error


def _refusal(status: int, message: str) -> Refused:
    return Gone(status, message) if status == NOT_FOUND else Refused(status, message)


def _explanation(response: requests.Response) -> str:
    """Give the engine's sentence from the body of an error."""
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text


def _check_progress(progress: bytearray) -> None:
    """Take the complete lines of a pull's progress away; raises `Refused` where one of them tells of an error."""
    *lines, rest = progress.split(b"\n")
    if len(rest) > MAX_PROGRESS_BYTES:
        raise Refused(0, "the engine tells of the pull's progress in a line without end")
    progress[:] = rest
    for line in filter(bytes.strip, map(bytes, lines)):
        try:
            message = json.loads(line).get("error")
        except (ValueError, AttributeError) as error:
            raise Refused(0, f"the engine's account of the pull is no JSON object: {line[:200]!r}") from error
        if message:
            raise Refused(0, str(message))


def _read_container(found: Mapping[str, Any]) -> Container:
    state = found["State"]
    was_started = not state["StartedAt"].startswith(_NEVER)
    is_over = was_started and state["Status"] in OVER
    return Container(
        id=found["Id"],
        status=state["Status"],
        labels=found["Config"]["Labels"] or {},
        was_started=was_started,
        exit_code=state["ExitCode"],
        seconds=_seconds_between(state["StartedAt"], state["FinishedAt"]) if is_over else None,
        note="out of memory" if state["OOMKilled"] else state["Error"],
    )


def _seconds_between(began: str, ended: str) -> float:
    return max((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds(), 0.0)
