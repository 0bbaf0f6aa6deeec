-- A release is deleted by a mark first, and for good when nobody asks for it any more; what was an older history of a
-- release goes before.
GRANT SELECT, INSERT, UPDATE, DELETE ON release, release_revision, operation, node, step, release_resource
TO :"server_role";
GRANT SELECT, INSERT ON step_log TO :"server_role";
GRANT UPDATE (id, stream, line, is_open, created_at) ON step_log TO :"server_role";
