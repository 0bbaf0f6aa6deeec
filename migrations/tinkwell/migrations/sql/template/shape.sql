-- A template as JSON.
CREATE OR REPLACE FUNCTION template_shape(t template) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', t.id, '", "name": ', to_json(t.name), ', "version": ', t.version, ', "data": ', to_json(t.data),
        time_member('created_at', t.created_at), time_member('updated_at', t.updated_at),
        time_member('deleted_at', t.deleted_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION template_shape FROM PUBLIC;
