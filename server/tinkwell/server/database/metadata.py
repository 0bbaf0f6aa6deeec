"""The one collection of all rooms' tables, in which foreign keys and tests find them."""

import sqlalchemy

metadata = sqlalchemy.MetaData()
