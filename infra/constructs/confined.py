"""The role that requests reach the data of their tenant with: a session policy leaves of it what is that tenant's."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.estate import Store
from infra.constructs.function import StepOrService
from infra.constructs.nag import accept_stars
from infra.constructs.rights import DELETE, READ, WRITE, allow


def confine(scope: Construct, id: str, store: Store, functions: Sequence[StepOrService]) -> None:
    """Makes it for functions, which assume it as `aslant.session_policy` has it."""
    tables = (store.executions_arn, store.catalog_arn, store.events_arn)
    statements = [
        allow((*READ, *WRITE, *DELETE), [place for table in tables for place in (table, f"{table}/index/*")]),
        allow(("s3:GetObject", "s3:PutObject"), (f"{store.bucket_arn}/*",)),
        allow(("kms:Decrypt", "kms:GenerateDataKey"), (store.key.key_arn,)),
    ]
    who = [iam.ArnPrincipal(one.role.role_arn) for one in functions]
    role = iam.Role(scope, id, assumed_by=iam.CompositePrincipal(*who), description="The data of one tenant at a time")
    for statement in statements:
        role.add_to_policy(statement)
    accept_stars(role, statements)
    for one in functions:
        one.role.add_to_policy(allow(("sts:AssumeRole",), (role.role_arn,)))
        one.function.add_environment("ASLANT_DATA_ROLE", role.role_arn)
