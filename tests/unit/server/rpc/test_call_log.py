"""What gRPC's own log says of calls."""

import logging

import pytest
from grpc._cython import cygrpc  # type: ignore[attr-defined] # the stubs do not know it

from tinkwell.server.rpc import call_log


@pytest.mark.parametrize(
    "error, is_told", [(cygrpc.ExecuteBatchError("the client has gone"), False), (RuntimeError("a fault"), True)]
)
def test_an_answer_that_nobody_waits_for_is_no_error(
    caplog: pytest.LogCaptureFixture, error: Exception, is_told: bool
) -> None:
    call_log.install()
    call_log.install()
    with caplog.at_level(logging.ERROR):
        logging.getLogger("grpc._cython.cygrpc").error("raised in core by servicer method", exc_info=error)
        logging.getLogger("grpc._cython.cygrpc").error("without a traceback")
    assert len(caplog.records) == 1 + is_told
