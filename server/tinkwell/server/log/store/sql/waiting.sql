-- How many transactions wait to commit because another one, which has notified, is committing. The lock is the one that
-- NOTIFY takes; it is the same for all databases.
SELECT count(*)
  FROM pg_locks
 WHERE locktype = 'object' AND database = 0 AND classid = 'pg_database'::regclass AND objid = 0 AND NOT granted
