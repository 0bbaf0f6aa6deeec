-- A machine as JSON. The functions that call these run as the owner and set no search_path, so nothing may be looked up
-- where the caller says: every name is qualified, down to types and operators.

-- A text until it is stored: a json becomes one again to be measured.
CREATE OR REPLACE FUNCTION hardware_text(h hardware) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT pg_catalog.concat(
        '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
        public.time_member('created_at', h.created_at), public.time_member('updated_at', h.updated_at),
        public.time_member('deleted_at', h.deleted_at), '}'
    )
$$;

-- As `hardware_text`, for a machine that was neither changed nor deleted after it was created: both of its times are
-- the same, and are written once. `format` finds out how to print the four values, where `concat` does so for each
-- piece of text between them, too.
CREATE OR REPLACE FUNCTION new_hardware_text(h hardware) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT pg_catalog.format(
        '{"id": "%s", "version": %s, "metadata": %s, "network": %s, "created_at": "%5$s", "updated_at": "%5$s"}',
        h.id, h.version, h.metadata, h.network,
        pg_catalog.to_char(h.created_at AT TIME ZONE INTERVAL '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    )
$$;

CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT public.hardware_text(h)::pg_catalog.json
$$;

REVOKE ALL ON FUNCTION hardware_text, new_hardware_text, hardware_shape FROM PUBLIC;
