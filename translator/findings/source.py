"""Reading YAML and JSON text. Codes start with S."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

SYNTAX = Rule("S001", Severity.ERROR, "not valid YAML or JSON",
    "The text could not be read. The position is where the reader gave up; the mistake is there or just before it:"
    " often a missing quote, a colon inside unquoted text, or a line indented by tabs.")
TOO_LARGE = Rule("S002", Severity.ERROR, "definition too large",
    "A definition may have 1 MiB of UTF-8 text. Move long prompts and data to the artifact bucket, or split the"
    " workflow and call the parts with `type: workflow`.")
TOO_DEEP = Rule("S003", Severity.ERROR, "nested too deeply",
    "Mappings and lists may be nested 64 levels deep.")
TOO_MANY_NODES = Rule("S004", Severity.ERROR, "too many values",
    "A definition may hold 250,000 values after its aliases are expanded. Nested aliases multiply: write the values out,"
    " or keep them outside of the definition.")
DUPLICATE_KEY = Rule("S005", Severity.ERROR, "key given twice",
    "The same key stands twice in one mapping, so one of the two values would be lost. Remove or rename one.")
TAG = Rule("S006", Severity.ERROR, "tags are not allowed",
    "YAML tags such as `!!python/object` or `!include` are refused. Write the plain value.")
MERGE_KEY = Rule("S007", Severity.ERROR, "merge keys are not allowed",
    "`<<` is not part of YAML 1.2. Use an alias for the whole mapping, or write the keys out.")
SELF_REFERENCE = Rule("S008", Severity.ERROR, "a value contains itself",
    "An alias points to a mapping or list that it stands inside of.")
MANY_DOCUMENTS = Rule("S009", Severity.ERROR, "more than one document",
    "A file holds one definition. Put each one into a file of its own and pass them together.")
KEY_NOT_TEXT = Rule("S010", Severity.ERROR, "key is not text",
    "Keys are texts. Quote the key, or move the list or mapping to the value.")
BIG_INTEGER = Rule("S011", Severity.ERROR, "integer beyond 2^53",
    "JSON numbers keep 53 bits of an integer: 9007199254740993 would silently become ...992. Write the number as a"
    " quoted text.")
NOT_A_MAPPING = Rule("S012", Severity.ERROR, "a definition is a mapping",
    "The top of the file must be a mapping with keys such as `name` and `steps`.")
NUMBER_RANGE = Rule("S013", Severity.ERROR, "number out of range",
    "The number does not fit into a double. Write it as a quoted text.")
ENCODING = Rule("S014", Severity.ERROR, "not UTF-8 text",
    "A definition is UTF-8 text without control characters other than tab and line breaks.")
