"""How releases and their operations change: the rules that the server judges by.

`operation` has what begins and takes an operation, `submission` what its plan changes, `progress` what is reported
about it, `ending` what ends it. `row` has what the rules need of what is stored, and `change` what they answer.
"""
