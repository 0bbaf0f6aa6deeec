"""The calls of the provisioners that carry operations out."""
