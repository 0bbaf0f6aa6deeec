-- As of 0001 and 0008.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', '", \"' || key || '\": \""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""')
$$;

CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
        time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
        time_member('deleted_at', h.deleted_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION change_type(operation text, was_deleted timestamptz, is_deleted timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE operation
        WHEN 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
        WHEN 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
        ELSE CASE
            WHEN was_deleted IS NULL AND is_deleted IS NULL THEN 'UPDATED'
            WHEN was_deleted IS NULL THEN 'DELETED'
            WHEN is_deleted IS NULL THEN 'CREATED'
        END
    END
$$;

CREATE OR REPLACE FUNCTION event_name(resource_type text, event_type text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT lower(resource_type) || '.' || lower(replace(event_type, resource_type || '_', '')) $$;

CREATE OR REPLACE FUNCTION current_actor() RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT coalesce(nullif(current_setting('tinkwell.actor', true), ''), session_user) $$;

CREATE OR REPLACE FUNCTION must_ring() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT pg_sequence_last_value('public.bell_wanted') > 0 OR current_setting('synchronous_commit') = 'off'
$$;

-- It says the same as that of 0011, as does ring_bell.
ALTER FUNCTION record_hardware() SET search_path = pg_catalog, public, pg_temp;
