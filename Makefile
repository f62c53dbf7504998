# Everything a machine needs beyond Python 3.11+, Node 20+ and make is set up by the first target that needs it.
PYTHON ?= python3
BIN := .venv/bin
SEED ?= 1
CASES ?= 20000
RUN := $(BIN)/python

.PHONY: help setup demo test test-services check synth deploy fuzz bench lock clean

help:
	@echo "make demo           run a release pipeline on the local cloud: parallel tests, a choice, an approval, a loop"
	@echo "make test           run all tests"
	@echo "make check          types, style and import contracts"
	@echo "make synth          CloudFormation templates of an installation, into build/cdk.out (ARGS='-c stage=prod')"
	@echo "make deploy         deploy it with the credentials of the environment"
	@echo "make fuzz           long random tests (CASES=20000 SEED=1)"
	@echo "make bench          the measures that the README quotes"
	@echo "make test-services  tests that need a real server or browser"
	@echo "make lock           resolve requirements.lock again"

# The stamp changes with the lock file, so an update is installed by the next target.
.venv/.ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# JavaScript's JSONata, the engine on AWS: tests compare with it.
tests/fuzz/node/node_modules/.ready: tests/fuzz/node/package-lock.json
	cd tests/fuzz/node && npm ci --silent --no-audit --no-fund
	touch $@

setup: .venv/.ready

demo: .venv/.ready
	$(RUN) -m infra.cli.demo

# Bytecode is kept whatever the environment says: without, each worker and each process that a test starts compiles everything.
test: .venv/.ready tests/fuzz/node/node_modules/.ready infra/node/node_modules/.ready
	PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest -n $${TEST_WORKERS:-3} --dist worksteal

test-services: .venv/.ready infra/node/node_modules/.ready
	tests/services/install.sh
	$(RUN) -m pytest tests/services

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The CDK command line tool.
infra/node/node_modules/.ready: infra/node/package-lock.json
	cd infra/node && npm ci --silent --no-audit --no-fund
	touch $@

synth: .venv/.ready infra/node/node_modules/.ready
	infra/node/node_modules/.bin/cdk synth --quiet $(ARGS)

deploy: .venv/.ready infra/node/node_modules/.ready
	infra/node/node_modules/.bin/cdk deploy --all $(ARGS)

fuzz: .venv/.ready tests/fuzz/node/node_modules/.ready
	$(RUN) -m tests.fuzz.expressions --cases $(CASES) --seed $(SEED)
	$(RUN) -m tests.fuzz.executions --rounds 20 --seed $(SEED)
	$(RUN) -m tests.fuzz.definitions --cases 2000 --seed $(SEED)
	$(RUN) -m tests.fuzz.workflows --cases 2000 --seed $(SEED)
	$(RUN) -m tests.fuzz.graphs --runs 100000 --seed $(SEED)
	EXAMPLES=2000 $(RUN) -m pytest --timeout 3600 tests/fuzz/test_steps.py
	TIMES=20 $(RUN) -m pytest --timeout 3600 $$(grep -rl --include='test_*.py' 'from tests.examples import' tests)

bench: .venv/.ready
	$(RUN) -m tests.bench
	$(RUN) -m tests.bench.gated
	$(RUN) -m tests.bench.soak
	$(RUN) -m tests.bench.load
	$(RUN) -m tests.bench.synth
	$(RUN) -m tests.bench.peers

lock: .venv/.ready
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --extra dev --extra cdk --generate-hashes --allow-unsafe --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --no-emit-options -o requirements.lock pyproject.toml

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/fuzz/node/node_modules infra/node/node_modules
