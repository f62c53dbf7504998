"""A chain of Lambda tasks by AWS CDK, synthesised to a template: `cdk_chain.py PREDECESSORS.json`. Prints the seconds after imports."""

import json
import sys
import tempfile
import time
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

steps = len(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
started = time.perf_counter()
app = cdk.App(outdir=tempfile.mkdtemp(), analytics_reporting=False)
stack = cdk.Stack(app, "Peer")
function = lambda_.Function.from_function_arn(stack, "F", "arn:aws:lambda:us-east-1:123456789012:function:f")
chain = None
for number in range(steps):
    task = tasks.LambdaInvoke(stack, f"s{number}", lambda_function=function)
    chain = task if chain is None else chain.next(task)
sfn.StateMachine(stack, "M", definition_body=sfn.DefinitionBody.from_chainable(chain))
app.synth()
print(time.perf_counter() - started)
