"""Agents run the programs of charms, and the server that they ask is in the test's own process."""

from collections.abc import Callable, Mapping

from support.patient_loop import PatientLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], PatientLoop]]:
    """Let leases and limits of tenths of a second pass only while the test waits for them."""
    return {"patient": PatientLoop}
