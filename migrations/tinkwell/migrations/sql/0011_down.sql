-- As of 0010.
CREATE OR REPLACE FUNCTION ring_bell() RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    drawn   bigint;
    told    public.events;
    payload text;
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_sequence_last_value('public.bell_wanted') > 0 THEN
        -- In a variable: what currval says may change at any moment, so all partitions would be made ready to be searched.
        drawn := currval('public.events_revision');
        SELECT * INTO STRICT told FROM public.events WHERE revision = drawn;
        -- The actor, which may be any text, comes last; in none of the others is there such a character.
        payload := concat_ws(
            E'\x1f', told.revision, told.id, told.resource_type, coalesce(told.resource_id::text, ''),
            coalesce(told.parent_id::text, ''), told.event_type, told.name, told.version,
            (date_part('epoch', told.created_at) * 1000000)::bigint, told.data, told.actor);
        -- PostgreSQL keeps so much of a block to itself.
        IF octet_length(payload) >= current_setting('block_size')::integer - 192 THEN
            payload := '';
        END IF;
        PERFORM pg_notify((SELECT channel FROM public.bell_secret), payload);
    END IF;
END $$;

DROP FUNCTION ring_bell(uuid, text, uuid, uuid, text, text, bigint, timestamptz, json);
