#!/usr/bin/env bash
# Makes images out of Debian packages, as root, for machines that reach a Debian mirror but no registry:
#   tinkwell-local/base      Debian 12 with Python 3.11, to build the Dockerfile on
#   tinkwell-local/postgres  PostgreSQL 15, which takes the settings of the official image
# Images that are there already are kept; `docker rmi` them to have them made anew.
set -euo pipefail
cd "$(dirname "$0")"
# The mirror that this machine itself installs from.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' | awk '$1 == "bookworm" { print $2; exit }')}
export DOCKER_BUILDKIT=0

has_image() {
  docker image inspect "$1" >/dev/null 2>&1
}

make_base() {
  local root
  root=$(mktemp -d)
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" "$mirror" >"$root.log" ||
    { tail -n 20 "$root.log"; return 1; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  # What this machine trusts, its containers have to trust too, or pip gets nowhere behind a proxy.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  tar --directory "$root" --create . | docker import --change 'CMD ["/bin/bash"]' \
    --change 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1' - tinkwell-local/base
  rm -rf "$root" "$root.log"
}

has_image tinkwell-local/base || make_base
has_image tinkwell-local/postgres ||
  docker build --network host --tag tinkwell-local/postgres --file postgres.Dockerfile .
