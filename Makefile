# Short names for the scripts; make itself is never needed.
.PHONY: verify test clean
verify:
	@scripts/verify
test:
	@scripts/test
clean:
	rm -rf .venv .adapter dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
