"""Who may read a secret, and who may change it, as parts of statements about a unit."""


def may_read(*, unit: str = "u", of: str = "s") -> str:
    """Return the condition under which a unit may read a secret, given the aliases of both in the statement.

    It may read its own, its application's, and those that are granted to it. A grant ends for a unit with its relation:
    when it has left the relation, or has committed its relation-broken.
    """
    return f"""
    ({of}.application_id = {unit}.application_id AND ({of}.unit_id IS NULL OR {of}.unit_id = {unit}.id)
     OR EXISTS (SELECT FROM secret_grant g
                 WHERE g.secret_id = {of}.id AND g.application_id = {unit}.application_id
                   AND (g.unit_id IS NULL OR g.unit_id = {unit}.id)
                   AND (g.relation_id IS NULL
                        OR EXISTS (SELECT FROM relation_member i
                                    WHERE i.relation_id = g.relation_id AND i.unit_id = {unit}.id
                                      AND i.membership <> 'LEFT')
                           AND NOT EXISTS (SELECT FROM unit_relation t
                                            WHERE t.relation_id = g.relation_id AND t.unit_id = {unit}.id
                                              AND t.is_broken))))
    """  # noqa: S608


def owns(*, unit: str = "u", application: str = "a", of: str = "s") -> str:
    """Return the condition under which a unit may change a secret: its own, or that of the application it leads."""
    return f"""
    ({of}.application_id = {unit}.application_id
     AND CASE WHEN {of}.unit_id IS NULL THEN {unit}.number IS NOT DISTINCT FROM {application}.leader
              ELSE {of}.unit_id = {unit}.id END)
    """


# A revision `v` of a secret `s` is used if it is the newest one, or if a unit reads it that may and is not its owner.
IS_USED = f"""
    (v.revision = s.latest
     OR EXISTS (SELECT FROM secret_reader k
                  JOIN unit x ON x.id = k.unit_id
                  JOIN application o ON o.id = x.application_id
                 WHERE k.secret_id = s.id AND k.tracked = v.revision AND x.life <> 'DEAD'
                   AND NOT {owns(unit="x", application="o")} AND {may_read(unit="x")}))
"""
# The secrets `s` that the next event of a unit `u` may depend on: those that it owns, and those that it has read.
OF_UNIT = """
    (SELECT id FROM secret WHERE unit_id = u.id
      UNION SELECT id FROM secret
             WHERE application_id = u.application_id AND unit_id IS NULL AND u.number IS NOT DISTINCT FROM a.leader
      UNION SELECT secret_id FROM secret_reader WHERE unit_id = u.id)
"""
# The same secrets as a table `s` beside `u` and `a`. OFFSET keeps the planner from merging it into the outer query.
ROWS_OF_UNIT = f"(SELECT s.* FROM {OF_UNIT} AS mine (id) JOIN secret s ON s.id = mine.id OFFSET 0) s"  # noqa: S608
