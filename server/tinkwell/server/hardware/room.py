"""Hardware as a part of the server: gRPC calls, and the phone calls of machines over HTTP."""

import functools

from tinkwell.api.v1 import hardware_service_pb2, hardware_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.hardware.api.phone_home import PhoneHome
from tinkwell.server.hardware.api.servicer import HardwareServicer
from tinkwell.server.hardware.service.enrolment import PhoneCalls
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.settings import Settings, networks


class HardwareRoom(Room):
    """Hardware over gRPC."""

    def __init__(self, database: Database, watches: Watches) -> None:
        self.service = HardwareService(database)
        add = functools.partial(
            hardware_service_pb2_grpc.add_HardwareServiceServicer_to_server, HardwareServicer(self.service, watches)
        )
        super().__init__(hardware_service_pb2.DESCRIPTOR.services_by_name["HardwareService"].full_name, add)


def phone_home(settings: Settings, database: Database) -> PhoneHome | None:
    """Make the endpoint for machines that phone home, or return None if it is turned off."""
    if not settings.phone_home:
        return None
    calls = PhoneCalls(database, max_enrolled=settings.max_enrolled if settings.enrol_unknown else 0)
    return PhoneHome(calls, proxies=networks(settings.trusted_proxies))
