#!/bin/bash
# Creates the cluster where there is none, then becomes the given command, which runs it.
set -euo pipefail
data=/var/lib/postgresql/data
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}

if [[ ! -s $data/PG_VERSION ]]; then
  initdb --pgdata="$data" --username="$user" --pwfile=<(echo "$POSTGRES_PASSWORD") --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  # Nobody may connect over the network before the database is there.
  pg_ctl --pgdata="$data" --options='-c listen_addresses=' --wait start
  if [[ $database != postgres ]]; then
    createdb --username="$user" "$database"
  fi
  pg_ctl --pgdata="$data" --mode=fast --wait stop
fi
exec "$@" -D "$data" -c listen_addresses='*'
