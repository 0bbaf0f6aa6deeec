"""The one collection that every room adds its tables to, so that foreign keys and tests find all of them."""

import sqlalchemy

metadata = sqlalchemy.MetaData()
