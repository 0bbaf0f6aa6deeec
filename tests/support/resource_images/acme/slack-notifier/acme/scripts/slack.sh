#!/bin/sh
# Says what it was told, and shows that it has no plugs.
set -eu
test ! -e /cloud
echo "slack $* ${TINKWELL_PLUG_CLOUD-without a cloud}"
