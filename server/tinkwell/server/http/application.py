"""The HTTP side of a server, for those who run it: is it alive, is it ready, how is it doing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

import prometheus_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

logger = logging.getLogger(__name__)

_READINESS_SECONDS = 5

Readiness = Callable[[], Awaitable[Mapping[str, bool | str]]]


def create_application(
    *, readiness: Readiness, registry: prometheus_client.CollectorRegistry, version: str
) -> Starlette:
    """Make the application.

    `/livez` answers as long as the process can; `/readyz` asks `readiness` for checks by name, each True or else what
    is wrong, and answers 503 unless all are True; `/metrics` is for Prometheus; `/` tells the version.
    """

    async def index(request: Request) -> Response:
        return JSONResponse({"name": "tinkwell", "version": version})

    async def livez(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        try:
            async with asyncio.timeout(_READINESS_SECONDS):
                checks = dict(await readiness())
        except TimeoutError:
            checks = {"checks": f"not finished within {_READINESS_SECONDS} s"}
        is_ready = all(result is True for result in checks.values())
        return JSONResponse({"ready": is_ready, "checks": checks}, status_code=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        text = prometheus_client.generate_latest(registry)
        return Response(text, media_type=prometheus_client.CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/", index),
            Route("/livez", livez),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ]
    )
