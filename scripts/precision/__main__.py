"""Run the generator: python -m scripts.precision [--check]."""

import sys

from .page import main

sys.exit(main())
