"""Messages say what the domain says, and nothing is lost between them."""

import datetime

from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.hardware import network
from tinkwell.core.hardware.record import Hardware
from tinkwell.server.hardware.api import message as hardware_message

_MOMENT = datetime.datetime(2026, 11, 20, 12, 30, 1, 123456, tzinfo=datetime.UTC)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=3)
_TEXTS = st.lists(_TEXT, max_size=2).map(tuple)
_IPS = st.builds(network.Ip, _TEXT, _TEXT, _TEXT, st.integers(-(2**63), 2**63 - 1))
_DHCP = st.builds(network.Dhcp, _TEXT, _TEXT, st.integers(0, 2**32), _TEXTS, _TEXTS, _TEXT, st.booleans(), _TEXT, _IPS)
_NETBOOT = st.builds(
    network.Netboot,
    st.booleans(),
    st.booleans(),
    st.builds(network.Ipxe, _TEXT, _TEXT),
    st.builds(network.Osie, _TEXT, _TEXT, _TEXT),
)
_NETWORKS = st.builds(network.Network, st.lists(st.builds(network.Interface, _DHCP, _NETBOOT), max_size=3).map(tuple))


def machine(of: network.Network) -> Hardware:
    return Hardware("id", 3, '{"a": 1}', of, _MOMENT, _MOMENT)


@given(_NETWORKS)
def test_a_network_comes_back_as_it_went(sent: network.Network) -> None:
    assert hardware_message.to_network(hardware_message.to_message(machine(sent)).network) == sent


@given(_NETWORKS)
def test_a_network_is_stored_and_loaded_as_it_was(stored: network.Network) -> None:
    assert network.load(network.dump(stored)) == stored


def test_a_machine_has_its_id_its_version_its_metadata_and_its_times() -> None:
    message = hardware_message.to_message(machine(network.Network((network.Interface(),))))
    assert (message.id, message.version, message.metadata) == ("id", 3, '{"a": 1}')
    assert message.created_at.ToDatetime(datetime.UTC) == message.updated_at.ToDatetime(datetime.UTC) == _MOMENT
    [interface] = message.network.interfaces
    assert not interface.HasField("dhcp")
    assert not interface.HasField("netboot")
