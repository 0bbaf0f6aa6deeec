#!/usr/bin/env bash
# Makes the virtual environment and installs the project into it from the lock files, editable.
# `scripts/setup.sh runtime` installs what the product needs to run, `contributor` also what it takes to work on it,
# and `bench` what the benchmarks compare with.
# $PYTHON names the interpreter, $VENV the directory (.venv).
set -euo pipefail
cd "$(dirname "$0")/.."
set=$1
venv=${VENV:-.venv}

is_new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if is_new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  echo "Python 3.11 or newer is needed: install it, or name it, as in \`make PYTHON=/path/to/python3\`." >&2
  exit 1
}

if ! is_new_enough "$venv/bin/python"; then
  python=$(find_python)
  rm -rf "$venv"
  if ! reason=$("$python" -m venv "$venv" 2>&1); then
    rm -rf "$venv"
    echo "$reason" >&2
    echo "$python cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)." >&2
    exit 1
  fi
fi

echo "Installing the $set requirements into $venv (once; this may take a minute) ..."
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet --no-input install)
"${pip[@]}" --require-hashes -r requirements/build.txt -r "requirements/$set.txt"
"${pip[@]}" --no-build-isolation --no-deps --editable .
