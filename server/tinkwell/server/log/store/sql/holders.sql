-- The transactions that may have drawn a revision and have not ended: INSERT takes this lock before it draws.
SELECT array_agg(DISTINCT virtualtransaction)
  FROM pg_locks
 WHERE locktype = 'relation'
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND relation = 'events'::regclass
   AND mode = 'RowExclusiveLock'
   AND granted
