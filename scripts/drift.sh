#!/usr/bin/env bash
# Fails when protos/gen is not what the protos generate.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/protos.sh "$fresh"
if ! diff --recursive --exclude __pycache__ protos/gen "$fresh"; then
  echo 'protos/gen is out of date: run `make protos`.' >&2
  exit 1
fi
