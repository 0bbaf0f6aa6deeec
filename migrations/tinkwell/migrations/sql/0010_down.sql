DROP FUNCTION secret_channel, hush_bell;

-- As of 0008.
CREATE OR REPLACE FUNCTION ring_bell() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_sequence_last_value('public.bell_wanted') > 0 THEN
        NOTIFY tinkwell_bell;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION may_sleep() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF is_writing() THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY bell IN SHARE MODE NOWAIT;
    PERFORM setval('bell_wanted', 1);
    IF is_writing() THEN
        PERFORM silence_bell();
        RETURN false;
    END IF;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

DROP TABLE bell_secret;
