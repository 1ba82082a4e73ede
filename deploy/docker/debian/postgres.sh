#!/bin/sh
# Creates the database at the first start, then starts the server.
set -eu
for bin in /usr/lib/postgresql/*/bin; do PATH="$bin:$PATH"; done

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  new="$PGDATA.new"
  rm -rf "$new"
  initdb --pgdata="$new" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  echo 'host all all all scram-sha-256' >>"$new/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$new" postgres
  mv "$new" "$PGDATA"
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
