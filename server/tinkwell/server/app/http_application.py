"""The HTTP side of a server: liveness, readiness and metrics for operators, and `/phone-home` for machines."""

import asyncio

import prometheus_client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tinkwell.server.hardware.api.phone_home import PhoneHome
from tinkwell.server.http import certificate
from tinkwell.server.http.admission import Bounds
from tinkwell.server.http.joined import Joined
from tinkwell.server.http.listener import HttpListener
from tinkwell.server.http.overtaken import Overtaken
from tinkwell.server.http.probe import Checks, Probe
from tinkwell.server.settings import Settings, networks

_ANSWER_SECONDS = 5


def create_application(probe: Probe, *, version: str, phone_home: PhoneHome | None = None) -> Starlette:
    """Make the application.

    `/livez` answers as long as the server can; `/readyz` shows the readiness checks and answers 503 unless all are
    True; `/metrics` is for Prometheus; `/` shows the version. `/phone-home` exists if `phone_home` is given. Anybody
    may send requests, so concurrent requests share one answer, which limits the load on the database and this process.
    """
    liveness, readiness, exposition = Joined(probe.liveness), Joined(probe.readiness), Joined(probe.metrics)

    async def index(request: Request) -> Response:
        return JSONResponse({"name": "tinkwell", "version": version})

    async def livez(request: Request) -> Response:
        wrong = {name: result for name, result in (await _ask(liveness)).items() if result is not True}
        return JSONResponse({"live": False, "checks": wrong}, status_code=503) if wrong else PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        checks = await _ask(readiness)
        is_ready = all(result is True for result in checks.values())
        return JSONResponse({"ready": is_ready, "checks": checks}, status_code=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        return Response(await exposition.ask(), media_type=prometheus_client.CONTENT_TYPE_LATEST)

    routes = [
        Route("/", index),
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]
    if phone_home is not None:
        routes.append(Route("/phone-home", phone_home.answer, methods=["POST"]))
    return Starlette(routes=routes, middleware=[Middleware(Overtaken)])


def create_listener(application: Starlette, settings: Settings, *, serves: asyncio.Event) -> HttpListener:
    """Make the listener of the application, with the certificates that Tinkerbell's tools have to trust.

    `/cert` answers once the port of these tools `serves`. Raises `OSError` and `errors.Unavailable` for certificates
    that cannot be read.
    """
    certificate.add_to(application, settings.tink_bundle, serves=serves)
    return HttpListener(
        application,
        host=settings.host,
        port=settings.http_port,
        bounds=Bounds(total=settings.max_http_connections, per_place=settings.max_http_connections_per_address),
        proxies=networks(settings.trusted_proxies),
    )


async def _ask(question: Joined[Checks]) -> dict[str, bool | str]:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return dict(await question.ask())
    except TimeoutError:
        return {"checks": f"not finished within {_ANSWER_SECONDS} s"}
