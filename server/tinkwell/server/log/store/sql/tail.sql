-- The events above the tail ($1), in order, for the most frequent poll: one without gaps. At most $2 events and $3
-- bytes, but at least one. $4 is the highest revision to look at: most of the cost of a poll would come from partitions
-- that were added far ahead.
SELECT revision, id::text, resource_type, coalesce(resource_id::text, ''), coalesce(parent_id::text, ''), event_type,
name,
       version, (date_part('epoch', created_at) * 1000000)::bigint, actor, data::text, size
  FROM (
      SELECT seen.*, sum(size) OVER (ORDER BY revision) - size AS bytes_before
        FROM (SELECT * FROM events WHERE revision > $1 AND revision <= $4 ORDER BY revision LIMIT $2) AS seen
  ) AS page
 WHERE bytes_before < $3::bigint
 ORDER BY revision
