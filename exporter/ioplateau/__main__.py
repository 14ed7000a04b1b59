"""`python -m ioplateau`, which is `ioplateau`."""

import sys

from ioplateau.cli import main

sys.exit(main())
