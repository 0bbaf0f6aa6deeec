-- A machine as JSON.
CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
        time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
        time_member('deleted_at', h.deleted_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION hardware_shape FROM PUBLIC;
