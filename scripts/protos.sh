#!/usr/bin/env bash
# Generates protos/gen from protos/tinkwell. `scripts/protos.sh DIR` writes elsewhere, which is how drift is found.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-protos/gen}
python=${PYTHON:-.venv/bin/python}
bin=$(dirname "$python")
rm -rf "$out/tinkwell"
mkdir -p "$out"
"$python" -m grpc_tools.protoc -Iprotos \
  --plugin=protoc-gen-mypy="$bin/protoc-gen-mypy" \
  --plugin=protoc-gen-mypy_grpc="$bin/protoc-gen-mypy_grpc" \
  --python_out="$out" --grpc_python_out="$out" --mypy_out="$out" --mypy_grpc_out=only_async:"$out" \
  $(cd protos && find tinkwell -name '*.proto' | sort)
for package in tink v1; do
  touch "$out/tinkwell/api/$package/py.typed"
  printf '"""Generated from protos/tinkwell/api/%s: messages and service stubs."""\n' "$package" \
    >"$out/tinkwell/api/$package/__init__.py"
done
