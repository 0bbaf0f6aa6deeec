-- The JSON shape of each resource is built in one place, its room's shape.sql: events carry it, and the command line
-- prints the same. Every event pays for it, so it is put together as text, by functions that become part of the plan of
-- whatever calls them. What needs no escaping goes to concat as it is: a session makes each function that is named
-- ready anew for every change, and that costs more than what the function does.

-- `, "key": "2026-05-17T08:00:00.000000Z"`, or NULL for a moment that is NULL, which concat leaves out. UTC is given as
-- an interval, since the zone's name would be looked up for each moment. Whoever makes a change may
-- have turned standard_conforming_strings off, which strings that begin with E do not mind.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT to_char(moment AT TIME ZONE INTERVAL '0', E'", \\"' || key || E'\\": \\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\\""')
$$;

REVOKE ALL ON FUNCTION time_member FROM PUBLIC;
