"""What starts executions. Codes start with T."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity

TRIGGER_CONFIG = Rule("T001", Severity.ERROR, "trigger that cannot start anything",
    "A schedule says its times in words (`daily at 9am`), as a cron expression of five fields or AWS's six, as an interval or"
    " as one moment; its time zone is an IANA name such as Europe/Berlin.")
TRIGGER_GUESSED = Rule("T002", Severity.WARNING, "schedule that can be read in more than one way",
    "The schedule was read as the message says. Write it out if something else is meant.")
NO_SECRET = Rule("T003", Severity.WARNING, "webhook that nobody can call",
    "Whoever calls a webhook signs what it sends with a secret that both sides know. Store one for the tenant, and name it:"
    " `config: {secret: shop_webhook}`.")
