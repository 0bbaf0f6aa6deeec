-- What lies in the gaps and above the tail, in order. The two parts are joined by UNION ALL, since OR would keep the
-- planner from the index; each gap is a probe of its own. The gaps come in order and so do their rows, which the place
-- tells the planner: probing ends with the page, where to sort by revision all gaps would be read first, for each page
-- again. $5 bounds the bytes, but for the first event.
SELECT revision, id::text, resource_type, coalesce(resource_id::text, ''), coalesce(parent_id::text, ''), event_type, name,
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
