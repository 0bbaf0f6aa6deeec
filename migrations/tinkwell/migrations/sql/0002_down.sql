-- Tables that were detached and not dropped yet hold what is forgotten already.
DO $$
DECLARE
    forgotten text;
BEGIN
    FOR forgotten IN SELECT partition_name FROM event_discard LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', forgotten);
    END LOOP;
END $$;
DROP TABLE event_discard;
