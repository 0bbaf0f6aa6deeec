-- The selected events of a range of revisions; an empty array selects all. Row encoding is most of the work, so the ids
-- come as one text, the columns that many events have in common as another, and the data as the bytes that are sent.
-- date_part() returns a double, which holds microseconds exactly until the year 2106; extract() returns numeric, which
-- takes longer.
SELECT revision, concat(id, E'\x1a$' || resource_id, '"$' || parent_id),
       concat_ws(E'\x1f', resource_type, event_type, name, actor), version,
       (date_part('epoch', created_at) * 1000000)::bigint, json_send(data), size
  FROM (
      SELECT seen.*, sum(size) OVER (ORDER BY revision ROWS UNBOUNDED PRECEDING) - size AS bytes_before
        FROM (
            SELECT * FROM events
             WHERE revision BETWEEN $1 AND $2
               AND (cardinality($3::text[]) = 0 OR event_type = ANY ($3))
               AND (cardinality($4::text[]) = 0 OR resource_type = ANY ($4))
               AND (cardinality($5::text[]) = 0 OR name = ANY ($5))
               AND ($6::uuid IS NULL OR $6 IN (resource_id, parent_id))
             ORDER BY revision LIMIT $7
        ) AS seen
       ORDER BY revision
  ) AS page
 WHERE bytes_before < $8::bigint
 ORDER BY revision
