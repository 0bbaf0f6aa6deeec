"""What both databases hold before the calls: machines and a template. Caller and servicers know them by number."""

from tinkwell.api.v1 import hardware_service_pb2 as hardware_pb

MACHINES = 1000
TEMPLATE_ID = "00000000-0000-4000-9000-000000000000"
TEMPLATE = "bench"
TEMPLATE_TEXT = """\
version: "0.1"
name: bench
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - name: wipe
        image: wipe
        timeout: 60
      - name: write
        image: write
        timeout: 600
"""
METADATA = '{"facility":{"plan_slug":"c2.medium.x86","facility_code":"onprem"},"instance":{"state":"provisioning"}}'

SETUP = (
    f"""
    INSERT INTO hardware (id, metadata, network)
    SELECT CAST('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0') AS uuid), '{METADATA}',
           jsonb_build_object('interfaces', jsonb_build_array(jsonb_build_object('dhcp', jsonb_build_object(
               'mac', '02:00:00:00:' || lpad(to_hex(n / 256), 2, '0') || ':' || lpad(to_hex(n % 256), 2, '0'),
               'hostname', 'machine-' || n, 'ip', jsonb_build_object('address', '10.0.' || n / 256 || '.' || n % 256)
           ))))
      FROM generate_series(0, {MACHINES - 1}) n
    """,
    f"INSERT INTO template (id, name, data) VALUES ('{TEMPLATE_ID}', '{TEMPLATE}', '{TEMPLATE_TEXT}')",
    "ANALYZE",
)


def machine_id(number: int) -> str:
    """Return the id of a machine that is there."""
    return f"00000000-0000-4000-8000-{number:012x}"


def new_machine(machine: str, number: int) -> hardware_pb.Hardware:
    """Return a machine that is not there yet, whose addresses no other number has."""
    places = number.to_bytes(4, "big")
    dhcp = hardware_pb.DHCP(
        mac="02:01:" + places.hex(":"),
        hostname=f"new-{number}",
        ip=hardware_pb.IP(address=f"11.{places[1]}.{places[2]}.{places[3]}"),
    )
    network = hardware_pb.Network(interfaces=[hardware_pb.Interface(dhcp=dhcp)])
    return hardware_pb.Hardware(id=machine, metadata=METADATA, network=network)
