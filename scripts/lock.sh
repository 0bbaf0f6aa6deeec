#!/usr/bin/env bash
# Writes the lock files: versions and hashes for every platform and Python, and nothing about where they came from.
# `scripts/lock.sh --upgrade` takes the newest versions; without it, pins that still fit stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-uv}

lock() {
  local name=$1
  shift
  # Extras stay: pip looks at a newer version for what is asked for with one and pinned without, and that has no hash.
  "$uv" pip compile "$@" --output-file "requirements/$name.txt" --quiet --universal --python-version 3.11 \
    --generate-hashes --no-strip-extras --no-emit-index-url --no-emit-find-links --no-annotate --no-header
}

lock contributor pyproject.toml --extra dev --extra nats --group contributor "$@"
# The others are parts of it, at the same versions.
lock runtime pyproject.toml --extra dev --constraint requirements/contributor.txt "$@"
lock bench pyproject.toml --extra dev --group bench --constraint requirements/contributor.txt "$@"
lock build requirements/build.in --constraint requirements/contributor.txt "$@"
