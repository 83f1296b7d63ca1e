"""tinygate decides whether a fast GPU path may be trusted: verified, never merely detected."""

__version__ = "0.1.0"
