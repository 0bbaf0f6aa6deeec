"""Changes of secrets, made at random by statements; see `unit_writer`."""

# A unit's own, or its application's, which some time is over that it has to be rotated after.
ADD = """
    WITH owner AS (
        SELECT u.*, random() < 0.5 AS is_own FROM unit u
         WHERE u.namespace = $1 AND u.life <> 'DEAD' ORDER BY random() LIMIT 1
    ), made AS (
        INSERT INTO secret (namespace, name, application_id, unit_id, owner, rotation, rotates_at)
        SELECT $1, translate(left(md5(random()::text), 20), 'wxyz', 'abcd'), application_id,
               CASE WHEN is_own THEN id END, CASE WHEN is_own THEN name ELSE split_part(name, '/', 1) END,
               'DAILY', clock_timestamp() - interval '1 hour'
          FROM owner
        RETURNING id
    )
    INSERT INTO secret_revision (secret_id, revision) SELECT id, 1 FROM made
"""
_SOME = "(SELECT id FROM secret WHERE namespace = $1 ORDER BY random() LIMIT 1)"
REVISE = f"""
    WITH made AS (
        UPDATE secret SET latest = latest + 1 WHERE id = {_SOME} RETURNING id, latest
    )
    INSERT INTO secret_revision (secret_id, revision, expires_at)
    SELECT id, latest, CASE WHEN random() < 0.5 THEN clock_timestamp() - interval '1 hour' END FROM made
"""
GRANT = f"""
    WITH given AS (
        UPDATE secret SET description = random()::text WHERE id = {_SOME} RETURNING id
    )
    INSERT INTO secret_grant (secret_id, relation_id, application_id, unit_id)
    SELECT given.id, e.relation_id, e.application_id,
           CASE WHEN random() < 0.3 THEN (SELECT id FROM unit WHERE application_id = e.application_id LIMIT 1) END
      FROM given, (SELECT e.* FROM relation_end e JOIN relation r ON r.id = e.relation_id
                    WHERE r.namespace = $1 ORDER BY random() LIMIT 1) e
        ON CONFLICT DO NOTHING
"""
REVOKE = f"""
    WITH taken AS (
        UPDATE secret SET description = random()::text WHERE id = {_SOME} RETURNING id
    )
    DELETE FROM secret_grant WHERE secret_id IN (SELECT id FROM taken)
"""
READ = f"""
    INSERT INTO secret_reader (secret_id, unit_id, tracked)
    SELECT s.id, u.id, s.latest
      FROM (SELECT * FROM secret WHERE id = {_SOME}) s,
           (SELECT id FROM unit WHERE namespace = $1 AND life <> 'DEAD' ORDER BY random() LIMIT 1) u
        ON CONFLICT (secret_id, unit_id) DO UPDATE SET tracked = EXCLUDED.tracked
"""
DROP = f"DELETE FROM secret WHERE id = {_SOME}"

# With how often each is made.
CHANGES = ((ADD, 6), (REVISE, 4), (GRANT, 8), (REVOKE, 1), (READ, 10), (DROP, 1))
