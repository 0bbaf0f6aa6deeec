-- The events in the gaps ($1 to $2) and above the tail ($3), in order; at most $4 events and $5 bytes, but at least
-- one. The two parts are joined by UNION ALL, since with OR the planner would not use the index. Each gap is looked up
-- in the index by itself. The gaps are in order, so ordering by `place` lets the planner stop at the end of the page;
-- ordering by revision alone, it would read all gaps for each page.
SELECT revision, id::text, resource_type, coalesce(resource_id::text, ''), coalesce(parent_id::text, ''), event_type,
name,
       version, (date_part('epoch', created_at) * 1000000)::bigint, actor, data::text, size
  FROM (
      SELECT seen.*, sum(size) OVER (ORDER BY revision) - size AS bytes_before
        FROM (
            (SELECT e.*
               FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS gap (first, last, place)
              CROSS JOIN LATERAL (
                    SELECT * FROM events WHERE revision BETWEEN gap.first AND gap.last ORDER BY revision LIMIT $4
                    ) AS e
              ORDER BY gap.place, e.revision LIMIT $4)
            UNION ALL
            (SELECT * FROM events WHERE revision > $3::bigint ORDER BY revision LIMIT $4)
        ) AS seen
       ORDER BY revision LIMIT $4
  ) AS page
 WHERE bytes_before < $5::bigint
 ORDER BY revision
