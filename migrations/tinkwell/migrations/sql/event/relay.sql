-- Which server relays the log: an empty table, of which only the lock matters. Nobody may take it without a privilege on
-- the table, where any role may take any advisory lock.
CREATE TABLE relay ();
