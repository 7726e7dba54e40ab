# Everything a developer or a newcomer types. `make help` lists it.
# One target directory, dev profile for tests; nothing is installed into the system but build packages.

CARGO ?= cargo
.DEFAULT_GOAL := help
.PHONY: help demo build package screenshot test test-long lint fmt bench fuzz viewer schemas tools

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## Check for the Rust compiler and what C code needs; install missing build packages where that is allowed
	@scripts/tools.sh

demo: tools ## Build, run the quickstart study (2 minutes), show the result and where the HTML report is
	@echo "1 of 2: building Prony. The first time takes about four minutes on two processors; nothing is installed."
	$(CARGO) build --release
	@echo "2 of 2: running the study quickstart, two minutes. A server is downloaded first if none is here (30 MB)."
	./target/release/prony run quickstart

build: tools ## Build the release
	$(CARGO) build --release

package: tools ## Build a Debian package and a container image, in target/package
	CARGO=$(CARGO) scripts/package.sh

test: tools ## All quick tests, a real server included
	CARGO=$(CARGO) scripts/tests.sh quick

test-long: tools ## All other tests: every server version, simulations, bigger data; PART=3/8: the third of eight parts
	CARGO=$(CARGO) scripts/tests.sh long $(PART)

lint: tools ## Formatting, width of lines, clippy, rustdoc, licences of dependencies, committed generated files
	$(CARGO) fmt --all --check
	$(CARGO) test --quiet -p prony --test tidy
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items
	scripts/deny.sh
	scripts/viewer.sh check

fuzz: tools ## Attack the protocol parser from both sides, 60 s each
	scripts/fuzz.sh 60

bench: tools ## Compare the load engine with other programs on the same servers, as ratios (FLAGS=--quick: 4 minutes)
	$(CARGO) bench -p prony --bench peers -- $(FLAGS)

screenshot: build ## Make the pictures in the README again, from a run of the quickstart (needs Chromium)
	scripts/screenshot.sh

viewer: ## Rebuild the report's viewer (needs Node.js; its result is committed)
	scripts/viewer.sh build

schemas: ## Write the committed JSON schemas, the table of modules and the page of counters anew
	PRONY_UPDATE=1 $(CARGO) test --workspace --quiet schema
	PRONY_UPDATE=1 $(CARGO) test --quiet --test tidy table_of_modules

