-- What a server needs when it runs as a role that does not own the schema: each room's grant.sql. The owner of the
-- schema gives all of it with `tinkwell db upgrade --server-role ROLE`, or a file at a time with `psql --set
-- server_role=ROLE --file grant.sql`.

GRANT USAGE ON SCHEMA public TO :"server_role";
GRANT SELECT ON alembic_version, schema_file, schema_release TO :"server_role";
