# Two commands do everything: `make demo` and `make test`.
.PHONY: demo test lint bench build fuzz clean

CARGO ?= cargo
STEPSCOPE = target/release/stepscope
DEMO = fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz

## Build, then show where the time went in a real H200 training run.
demo: build
	$(STEPSCOPE) $(DEMO)

build:
	$(CARGO) build --release --locked --bin stepscope

## All tests. With STEPSCOPE_PEER_DATA and STEPSCOPE_LARGE_TRACE set, the checks against other tools' data run too.
test:
	$(CARGO) test --workspace --locked
	@if [ -n "$$STEPSCOPE_PEER_DATA" ]; then echo "checked against the data of torch-tb-profiler, TraceLens and HTA in $$STEPSCOPE_PEER_DATA"; \
	else echo "skipped: checks against torch-tb-profiler, TraceLens and HTA (STEPSCOPE_PEER_DATA is not set)"; fi
	@if [ -n "$$STEPSCOPE_LARGE_TRACE" ]; then echo "checked against the large trace $$STEPSCOPE_LARGE_TRACE"; \
	else echo "skipped: the large trace (STEPSCOPE_LARGE_TRACE is not set)"; fi

## Formatting, clippy and docs, warnings denied.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items

## Side by side with the peers, in one run; then what each analysis costs beside loading. See BENCHMARKS.md. Pass options
## for the first with ARGS; STEPSCOPE_BENCH_TRACE names the trace of both.
bench: build
	python3 scripts/bench/run.py --stepscope $(STEPSCOPE) $(ARGS)
	$(CARGO) bench --locked -p stepscope-analyse --bench analyses -- $(abspath $(STEPSCOPE_BENCH_TRACE))

## The reader against mutated files; needs a nightly toolchain and cargo-fuzz. Seconds: FUZZ_SECONDS.
## Without the address sanitizer: there is no unsafe code to watch, and it would cost nine tenths of the speed.
FUZZ_SECONDS ?= 900
fuzz:
	mkdir -p fuzz/corpus/read && cp -n fixtures/pytorch/mini/*.json fuzz/corpus/read/ || true
	$(CARGO) +nightly fuzz run --sanitizer none read -- -dict=fuzz/read.dict -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048

clean:
	$(CARGO) clean
