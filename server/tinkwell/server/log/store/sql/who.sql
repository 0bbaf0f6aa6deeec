-- Describes the transactions $1 (virtual ids) and the sessions $2 (process ids); those that are open for longest first.
-- A prepared transaction has no session; it is found by the lock on its own transaction id.
WITH wanted AS (
    SELECT DISTINCT pid, virtualtransaction FROM pg_locks WHERE virtualtransaction = ANY ($1::text[]) AND granted
     UNION
    SELECT pid, NULL FROM unnest($2::int[]) AS pid
)
SELECT w.pid, coalesce(a.application_name, ''), coalesce(a.usename::text, p.owner::text, ''),
       date_part('epoch', clock_timestamp() - coalesce(a.xact_start, p.prepared)), coalesce(a.state, ''),
       concat_ws(' ', a.wait_event_type, a.wait_event), coalesce(p.gid, '')
  FROM wanted w
  LEFT JOIN pg_stat_activity a ON a.pid = w.pid
  LEFT JOIN pg_locks own
    ON w.pid IS NULL AND own.virtualtransaction = w.virtualtransaction AND own.locktype = 'transactionid' AND
    own.granted
  LEFT JOIN pg_prepared_xacts p ON p.transaction = own.transactionid
 WHERE a.pid IS NOT NULL OR p.gid IS NOT NULL
 ORDER BY 4 DESC NULLS LAST, 1
