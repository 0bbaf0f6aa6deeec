-- What lies above the tail, in order, for the most frequent poll: one that has no gap. $3 bounds the bytes, but for the
-- first event. $4 leaves the partitions alone that are ready far ahead: touching them is most of what a poll costs.
SELECT revision, id::text, resource_type, coalesce(resource_id::text, ''), coalesce(parent_id::text, ''), event_type, name,
       version, (date_part('epoch', created_at) * 1000000)::bigint, actor, data::text, size
  FROM (
      SELECT seen.*, sum(size) OVER (ORDER BY revision) - size AS bytes_before
        FROM (SELECT * FROM events WHERE revision > $1 AND revision <= $4 ORDER BY revision LIMIT $2) AS seen
  ) AS page
 WHERE bytes_before < $3::bigint
 ORDER BY revision
