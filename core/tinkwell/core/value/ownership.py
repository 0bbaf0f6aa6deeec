"""Who may change a folder that a process keeps its files in.

An account that can put a link into the folder can redirect the process to other files, with the process's rights.
"""

import stat

_ROOT = 0


def fault(*, owner: int, mode: int, account: int) -> str:
    """Return why a folder is not safe for an account's files, as the end of a sentence; "" if it is safe.

    `owner` and `account` are account numbers, `mode` is as in `stat`. Root may change all folders anyway.
    """
    if owner not in (account, _ROOT):
        return f"it belongs to another account, {owner}: choose one of your own, or be that account"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        permissions = f"{stat.S_IMODE(mode):04o}"
        return (
            f"other accounts may write there, for its mode is {permissions}: "
            "take that from them (chmod go-w), or name a new folder in it"
        )
    return ""
