#!/usr/bin/env bash
# The API from a shell, by reflection. grpcurl and buf curl take the same JSON:
#
#   grpcurl -plaintext -d '{"now": true}' localhost:50051 tinkwell.api.v1.EventService/Watch
#
# usage: examples/grpcurl/curl.sh [HOST:PORT]
set -euo pipefail
server=http://${1:-localhost:50051}
curl() { buf curl --protocol grpc --http2-prior-knowledge "$@"; }

echo "# what there is"
curl --list-services "$server"

echo "# push a machine"
curl -d '{"data": {"id": "9b2a6c1e-52f5-4a8e-8f9d-0c6f8a0d7e55", "metadata": "{\"rack\": 7}", "network": {"interfaces": [{"dhcp": {"mac": "52:54:00:77:00:01"}}]}}}' \
  "$server/tinkwell.api.v1.HardwareService/Push"

echo "# find it by its address, in any spelling"
curl -d '{"mac": "52-54-00-77-00-01"}' "$server/tinkwell.api.v1.HardwareService/ByMAC"

echo "# the events of the last five minutes, then live; ended after two seconds"
curl -d '{"resourceTypes": ["RESOURCE_TYPE_HARDWARE"]}' "$server/tinkwell.api.v1.EventService/Watch" &
watch=$!
sleep 2
kill "$watch"
wait "$watch" || true
