-- A chart as JSON, without its archive and its metadata, but for what says what it is.
CREATE OR REPLACE FUNCTION chart_shape(c chart) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', c.id, '", "digest": "', c.digest, '", "name": ', to_json(c.name), ', "chart_version": ',
        to_json(c.chart_version), ', "app_version": ' || to_json(nullif(c.metadata ->> 'appVersion', '')),
        ', "description": ' || to_json(nullif(left(c.metadata ->> 'description', 1000), '')), ', "size": ', c.size,
        ', "version": ', c.version, time_member('created_at', c.created_at), time_member('updated_at', c.updated_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION chart_shape FROM PUBLIC;
