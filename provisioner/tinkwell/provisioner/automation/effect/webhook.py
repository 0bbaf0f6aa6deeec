"""POSTs to the webhook of one rule, signed as Standard Webhooks says."""

import asyncio
import contextlib
import datetime
import json
import ssl

import httpx
import standardwebhooks

from tinkwell.core.process_log import redaction
from tinkwell.provisioner.automation.effect import attempt, cloud_event, guarded_transport
from tinkwell.provisioner.automation.rule import evaluation, expression, model

# A receiver may ask for patience, within bounds.
MAX_RETRY_AFTER_SECONDS = 300.0
_AGAIN = frozenset({408, 425, 429})


class Webhook:
    """Delivers the effects of one rule."""

    def __init__(
        self,
        action: model.PostWebhook,
        evaluator: evaluation.Evaluator,
        *,
        concurrency: int,
        transport: httpx.AsyncBaseTransport | None = None,
        resolve: guarded_transport.Resolve = guarded_transport.resolve,
    ) -> None:
        self._action = action
        self._evaluator = evaluator
        with contextlib.suppress(httpx.InvalidURL):  # each attempt tells of that
            # As the library writes it, which may not be how it was given.
            redaction.register(httpx.URL(action.url).raw_path.decode("ascii"))
        self._signer = standardwebhooks.Webhook(action.secret) if action.secret is not None else None
        # The proxies and certificates that the environment names are left aside: a proxy would resolve names itself.
        inner = transport or httpx.AsyncHTTPTransport(
            verify=ssl.create_default_context(),
            trust_env=False,
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
        )
        self._client = httpx.AsyncClient(
            transport=guarded_transport.GuardedTransport(
                inner, is_private_allowed=action.is_private_allowed, resolve=resolve
            ),
            trust_env=False,
            follow_redirects=False,
            timeout=None,  # noqa: S113  (the whole of an attempt has one limit, below)
        )

    async def attempt(self, effect: model.Effect) -> attempt.Attempt:
        """POST once."""
        try:
            body, content_type = await self._body(effect)
            own_headers = await self._headers(effect)
        except expression.ExpressionError as error:
            return attempt.hopeless(str(error))
        headers = {"content-type": content_type, "user-agent": "tinkwell"}
        headers |= own_headers | self._identity(effect.key, body)
        try:
            async with (
                asyncio.timeout(self._action.timeout_seconds),
                # What the receiver answers is not read: whatever it is, only the status counts.
                self._client.stream("POST", self._action.url, content=body, headers=headers) as response,
            ):
                return _judge(response)
        except TimeoutError:
            return attempt.failed(f"no answer within {self._action.timeout_seconds:g} s")
        except guarded_transport.Refused as error:
            return attempt.hopeless(str(error))
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            return attempt.failed(f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _body(self, effect: model.Effect) -> tuple[bytes, str]:
        if not self._action.has_body:
            return cloud_event.encode(effect), cloud_event.CONTENT_TYPE
        value = await self._evaluator.fill(self._action.body, effect.event)
        return json.dumps(value, allow_nan=False).encode(), "application/json"

    async def _headers(self, effect: model.Effect) -> dict[str, str]:
        found = await self._evaluator.texts(self._action.headers.values(), effect.event)
        headers = {name.lower(): value for name, value in zip(self._action.headers, found, strict=True)}
        for name, value in headers.items():
            if not model.is_header(value):
                raise expression.ExpressionError(f"the header {name} becomes {value[:50]!r}; {model.HEADER}")
        return headers

    def _identity(self, key: str, body: bytes) -> dict[str, str]:
        """Return the headers that tell who sends this; without a secret only what a receiver needs to know again."""
        now = datetime.datetime.now(datetime.UTC)
        headers = {"webhook-id": key, "webhook-timestamp": str(int(now.timestamp()))}
        if self._signer is not None:
            headers["webhook-signature"] = self._signer.sign(msg_id=key, timestamp=now, data=body.decode())
        return headers


def _judge(response: httpx.Response) -> attempt.Attempt:
    detail = f"HTTP {response.status_code}"
    if response.is_success:
        return attempt.done(detail)
    if response.status_code in _AGAIN or response.status_code >= 500:
        return attempt.failed(detail, not_before_seconds=_retry_after(response.headers.get("retry-after", "")))
    return attempt.hopeless(f"{detail}; redirects are not followed" if response.is_redirect else detail)


def _retry_after(text: str) -> float:
    """Return the seconds that a Retry-After header asks for; dates, which it may hold as well, are not understood."""
    return min(float(text), MAX_RETRY_AFTER_SECONDS) if text.isascii() and text.isdecimal() else 0.0
