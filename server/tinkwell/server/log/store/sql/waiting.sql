-- How many wait to commit because somebody else who has notified does. The lock stands for all databases.
SELECT count(*)
  FROM pg_locks
 WHERE locktype = 'object' AND database = 0 AND classid = 'pg_database'::regclass AND objid = 0 AND NOT granted
