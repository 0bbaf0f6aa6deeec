-- What was emitted, as JSON.
CREATE OR REPLACE FUNCTION lifecycle_shape(r lifecycle) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', r.id, '", "operation_id": "', r.operation_id, '", "release_id": "', r.release_id, '", "ordinal": ',
        r.ordinal, ', "event": ', to_json(r.event), ', "chart": ', to_json(r.chart), ', "handlers": ', r.handlers,
        ', "outcome": "', r.outcome, '", "message": ', to_json(r.message), ', "seconds": ', to_json(r.seconds),
        ', "version": ', r.version, time_member('created_at', r.created_at), time_member('updated_at', r.updated_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION lifecycle_shape FROM PUBLIC;
