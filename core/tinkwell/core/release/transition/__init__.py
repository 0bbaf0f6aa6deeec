"""The rules by which the server changes releases and their operations.

`operation` begins and takes an operation, `submission` accepts its plan, `progress` its reports, and `ending` ends it.
`row` has the stored fields that the rules need, and `change` their results.
"""
