#!/bin/sh
# Makes the machine that is described on standard input. It is called without arguments.
set -eu
test $# -eq 0
cat >"${TINKWELL_PLUG_CLOUD:-/cloud}/vm.json"
echo "the machine is made"
