"""The advice for functions that are not known."""

import difflib
from collections.abc import Collection, Mapping

from tinkwell.core.value import parse

_CHANGING = "it would be another value each time; give one when the workflow is created"
_OUTSIDE = "a template sees the values of its workflow alone; give it there"

# Functions of sprig and of Helm that have a replacement.
_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("bcrypt", "genCA", "genPrivateKey", "genSelfSignedCert", "genSignedCert", "htpasswd"), _CHANGING),
    **dict.fromkeys(("ago", "date", "dateInZone", "now", "unixEpoch"), _CHANGING),
    **dict.fromkeys(("randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric"), _CHANGING),
    **dict.fromkeys(("shuffle", "uuidv4"), _CHANGING),
    **dict.fromkeys(("env", "expandenv", "getHostByName", "lookup"), _OUTSIDE),
    **dict.fromkeys(("merge", "mergeOverwrite", "set", "unset"), "no value is changed; make a new object with dict"),
    **dict.fromkeys(("until", "untilStep", "seq"), "write the numbers, as in list 1 2 3"),
    "biggest": "did you mean max?",
    "call": "no value is a function",
    "fromYaml": "give the value as an object, or as JSON for fromJson",
    "netmaskToCIDR": "did you mean netmaskToPrefixLength?",
    "include": "write what a definition makes with {{template}}",
    "push": "did you mean append?",
    "required": "leave it out; a value that is missing is refused without it",
    "tpl": "write the text with {{define}} and {{template}}",
    "tuple": "did you mean list?",
}
# Functions of sprig that are left out, because no known template of Tinkerbell needs them.
_LEFT_OUT = frozenset(
    [
        *("abbrev", "abbrevboth", "add1f", "addf", "adler32sum", "all", "any", "b32dec", "b32enc"),
        *("buildCustomCert", "camelcase", "ceil", "chunk", "clean", "date_in_zone", "date_modify"),
        *("dateModify", "decryptAES", "deepCopy", "deepEqual", "derivePassword", "divf", "duration"),
        *("durationRound", "encryptAES", "ext", "float64", "floor", "genCAWithKey", "genSelfSignedCertWithKey"),
        *("genSignedCertWithKey", "hello", "htmlDate", "htmlDateInZone", "initials", "isAbs", "kebabcase"),
        *("kindIs", "kindOf", "maxf", "minf", "mulf", "nospace", "omit", "osBase", "osClean", "osDir", "osExt"),
        *("osIsAbs", "pick", "pluck", "plural", "regexFind", "regexFindAll", "regexQuoteMeta"),
        *("regexReplaceAll", "regexReplaceAllLiteral", "regexSplit", "round", "semver", "semverCompare"),
        *("sha1sum", "sha512sum", "snakecase", "splitn", "subf", "swapcase", "title", "toDate", "toDecimal"),
        *("toStrings", "typeIs", "typeIsLike", "typeOf", "untitle", "urlJoin", "urlParse", "without", "wrap"),
        *("wrapWith",),
    ]
)


def advise(name: str, known: Collection[str]) -> str:
    """Return what to write instead of a function: special advice, or the most similar known function."""
    if advice := _ADVICE.get(name):
        return advice
    if name in _LEFT_OUT:
        return "it is left out here; give what it would make as a value when the workflow is created"
    if near := difflib.get_close_matches(name[:100], known, n=1, cutoff=0.7):
        return f"did you mean {near[0]}?"
    return f"write .{parse.excerpt(name)} for a value, and {{{{`{{{{`}}}} for two braces that belong to the text"
