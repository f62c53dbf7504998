"""What a function is told by its environment. Read when a function is called, never at import."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from aslant.installation import NAME

# Bedrock inference profiles (docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html). The names of
# other makers' models stand for what is closest in strength.
MODEL_ALIASES: Mapping[str, str] = {
    "claude-opus": "us.anthropic.claude-opus-4-1-20250805-v1:0",
    "claude-sonnet": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "claude-haiku": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "gpt-4": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gpt-3.5": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "gpt-3.5-turbo": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
}


OFFLINE = "offline"  # the model that is none


class SettingsError(Exception):
    """A variable of the environment that cannot be read. Raised for whoever installs, not for a workflow's author."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults. Lists are comma-separated in the environment, mappings are JSON."""

    region: str = "us-east-1"
    name: str = NAME                        # ASLANT_NAME: of the installation, which its functions' names begin with
    secret_prefix: str = "aslant/"          # ASLANT_SECRET_PREFIX; a secret is called <prefix><tenant>/<name>
    http_allow: tuple[str, ...] = ()        # ASLANT_HTTP_ALLOW: hosts, *.domains and CIDR blocks that may be private
    env_allow: tuple[str, ...] = ()         # ASLANT_ENV_ALLOW: variables that a definition may read
    simulate: bool = False                  # ASLANT_SIMULATE=1: skills and types that are not there give a marked result
    model: str = ""                         # ASLANT_MODEL: the default model; `offline` replaces every model
    model_aliases: Mapping[str, str] = field(default_factory=lambda: MODEL_ALIASES)  # ASLANT_MODEL_ALIASES
    model_url: str = ""                     # ASLANT_MODEL_URL: the endpoint of models `openai:<name>` (OpenAI-compatible)
    model_secret: str = "model_api_key"     # ASLANT_MODEL_SECRET: the tenant's secret that holds the endpoint's key
    model_prices: Mapping[str, str] = field(default_factory=dict)   # ASLANT_MODEL_PRICES: part of an id -> "3/15", US dollars
    #                                         per million tokens in and out
    model_budgets: Mapping[str, str] = field(default_factory=dict)  # ASLANT_MODEL_BUDGETS: tenant (or *) -> US dollars a month
    skills: Mapping[str, str] = field(default_factory=dict)  # ASLANT_SKILLS: name -> Lambda ARN or https address
    skill_modules: tuple[str, ...] = ()     # ASLANT_SKILL_MODULES: Python modules (names or paths) of skills
    commands: tuple[str, ...] = ()          # ASLANT_COMMANDS: programs of command steps, `name` or `name=/path/of/it`
    clusters: Mapping[str, str] = field(default_factory=dict)  # ASLANT_CLUSTERS: name -> https address, or eks:NAME
    containers: Mapping[str, str] = field(default_factory=dict)  # ASLANT_CONTAINERS: cluster, families (patterns of task
    #                                         definitions, with {tenant}), subnets, security_groups, public_ip
    database_allow: tuple[str, ...] = ()    # ASLANT_DATABASE_ALLOW: private hosts, `dynamodb:table`, `athena:group`, `rds:arn`
    executions_table: str = "aslant-executions"  # ASLANT_EXECUTIONS_TABLE
    catalog_table: str = "aslant-catalog"   # ASLANT_CATALOG_TABLE
    events_table: str = "aslant-events"     # ASLANT_EVENTS_TABLE: events, for whoever follows an execution
    connections_table: str = "aslant-connections"  # ASLANT_CONNECTIONS_TABLE: who follows one over a WebSocket
    stream_url: str = ""                    # ASLANT_STREAM_URL: the stage of the WebSocket API, where connections are managed
    bucket: str = "aslant-artifacts"        # ASLANT_BUCKET: large values and artifacts
    key: str = "alias/aslant"               # ASLANT_KEY: the KMS key that encrypts task tokens
    event_bus: str = "default"              # ASLANT_EVENT_BUS
    scheduler_role: str = ""                # ASLANT_SCHEDULER_ROLE: the role that timers call functions with
    machine_role: str = "local"             # ASLANT_MACHINE_ROLE: the name of the role that state machines run with
    token_issuer: str = ""                  # ASLANT_TOKEN_ISSUER: who signs the tokens of the API's callers
    token_audience: str = "aslant"          # ASLANT_TOKEN_AUDIENCE
    token_keys: str = ""                    # ASLANT_TOKEN_KEYS: the address of the issuer's keys (a JSON Web Key Set)
    tenant_claim: str = "custom:tenant"     # ASLANT_TENANT_CLAIM: the claim of a token that names the tenant
    roles_claim: str = "cognito:groups"     # ASLANT_ROLES_CLAIM: the claim with the roles
    data_role: str = ""                     # ASLANT_DATA_ROLE: the role that a request reaches its tenant's data with
    start_rate: int = 100                   # ASLANT_START_RATE: executions that a person starts in an hour; 0 is no limit
    tenant_start_rate: int = 0              # ASLANT_TENANT_START_RATE: the same of a whole tenant, triggers included
    max_running: int = 0                    # ASLANT_MAX_RUNNING: executions of a tenant that run at once
    notify_topic: str = ""                  # ASLANT_NOTIFY_TOPIC: the topic of a notification that names none
    slack_webhook: str = ""                 # ASLANT_SLACK_WEBHOOK: where `channel: slack` goes without a url
    public_url: str = ""                    # ASLANT_PUBLIC_URL: where links in messages lead; none are sent without it
    email_from: str = ""                    # ASLANT_EMAIL_FROM: a sender that SES has verified
    browser: str = ""                       # ASLANT_BROWSER: the Chromium of scrape steps; the first on PATH without
    browser_sandbox: bool = True            # ASLANT_BROWSER_SANDBOX=0: for root and Lambda, where Chromium's cannot work
    email_senders: tuple[str, ...] = ()     # ASLANT_EMAIL_SENDERS: more that email steps may name; @domain is all of one

    @staticmethod
    def read(environment: Mapping[str, str] | None = None) -> Settings:
        """The settings of this environment. Raises SettingsError for a variable that is not valid JSON."""
        env = os.environ if environment is None else environment
        return Settings(
            region=env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1",
            name=env.get("ASLANT_NAME", NAME),
            secret_prefix=env.get("ASLANT_SECRET_PREFIX", f"{env.get('ASLANT_NAME', NAME)}/"),
            http_allow=_items(env.get("ASLANT_HTTP_ALLOW", "")),
            env_allow=_items(env.get("ASLANT_ENV_ALLOW", "")),
            simulate=env.get("ASLANT_SIMULATE", "").lower() in ("1", "true", "yes"),
            model=env.get("ASLANT_MODEL", ""),
            model_aliases={**MODEL_ALIASES, **_mapping(env, "ASLANT_MODEL_ALIASES")},
            model_url=env.get("ASLANT_MODEL_URL", ""),
            model_secret=env.get("ASLANT_MODEL_SECRET", "model_api_key"),
            model_prices=_mapping(env, "ASLANT_MODEL_PRICES"),
            model_budgets=_mapping(env, "ASLANT_MODEL_BUDGETS"),
            skills=_mapping(env, "ASLANT_SKILLS"),
            skill_modules=_items(env.get("ASLANT_SKILL_MODULES", "")),
            commands=_items(env.get("ASLANT_COMMANDS", "")),
            clusters=_mapping(env, "ASLANT_CLUSTERS"),
            containers=_mapping(env, "ASLANT_CONTAINERS"),
            database_allow=_items(env.get("ASLANT_DATABASE_ALLOW", "")),
            executions_table=env.get("ASLANT_EXECUTIONS_TABLE", "aslant-executions"),
            catalog_table=env.get("ASLANT_CATALOG_TABLE", "aslant-catalog"),
            events_table=env.get("ASLANT_EVENTS_TABLE", "aslant-events"),
            connections_table=env.get("ASLANT_CONNECTIONS_TABLE", "aslant-connections"),
            stream_url=env.get("ASLANT_STREAM_URL", ""),
            bucket=env.get("ASLANT_BUCKET", "aslant-artifacts"),
            key=env.get("ASLANT_KEY", "alias/aslant"),
            event_bus=env.get("ASLANT_EVENT_BUS", "default"),
            scheduler_role=env.get("ASLANT_SCHEDULER_ROLE", ""),
            machine_role=env.get("ASLANT_MACHINE_ROLE", "local"),
            token_issuer=env.get("ASLANT_TOKEN_ISSUER", ""),
            token_audience=env.get("ASLANT_TOKEN_AUDIENCE", "aslant"),
            token_keys=env.get("ASLANT_TOKEN_KEYS", ""),
            tenant_claim=env.get("ASLANT_TENANT_CLAIM", "custom:tenant"),
            roles_claim=env.get("ASLANT_ROLES_CLAIM", "cognito:groups"),
            data_role=env.get("ASLANT_DATA_ROLE", ""),
            start_rate=_number(env, "ASLANT_START_RATE", 100),
            tenant_start_rate=_number(env, "ASLANT_TENANT_START_RATE", 0),
            max_running=_number(env, "ASLANT_MAX_RUNNING", 0),
            notify_topic=env.get("ASLANT_NOTIFY_TOPIC", ""),
            slack_webhook=env.get("ASLANT_SLACK_WEBHOOK", ""),
            public_url=env.get("ASLANT_PUBLIC_URL", ""),
            email_from=env.get("ASLANT_EMAIL_FROM", ""),
            browser=env.get("ASLANT_BROWSER", ""),
            browser_sandbox=env.get("ASLANT_BROWSER_SANDBOX", "1").lower() not in ("0", "false", "no"),
            email_senders=_items(env.get("ASLANT_EMAIL_SENDERS", "")),
        )


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip() or str(default)
    if not text.isdecimal():
        raise SettingsError(f"{name} must be a whole number")
    return int(text)


def _mapping(env: Mapping[str, str], name: str) -> dict[str, str]:
    text = env.get(name, "").strip()
    if not text:
        return {}
    try:
        data = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{name} is not JSON: {error}") from None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise SettingsError(f"{name} must be a JSON object of texts")
    return data
